import { UsageError } from '../errors/errors.ts'
import { plainName } from '../privacy/privacy-policy.ts'
import { plainText } from '../text/plain-text.ts'
import { listedNames } from '../text/wording.ts'
import { closestMatch } from 'leven'

/** ` (did you mean "x"?)` when one of `known` is close to what was written, or the empty string. */
export function didYouMean(written: string, known: readonly string[]): string {
  const match = nearest(written, known)
  return match === undefined ? '' : ` (did you mean "${match}"?)`
}

/** The entry of `known` that was probably meant; undefined if none is close enough. */
export function nearest(written: string, known: readonly string[]): string | undefined {
  const target = plainName(written)
  // Long text is not a misspelt word, and comparing it with every known word would be slow.
  if (target === '' || target.length > LONGEST_WORD) return undefined
  // Two swapped letters, the most common slip, are a distance of two.
  const maxDistance = target.length < 4 ? 1 : Math.max(2, Math.floor(target.length / 3))
  const closest = closestMatch(target, known.map(plainName), { maxDistance })
  return known.find((candidate) => plainName(candidate) === closest)
}

const LONGEST_WORD = 64

/** Throws UsageError where one of these is not known. */
export function requireKnown(named: readonly string[], known: readonly string[]): void {
  const unknown = named.find((organization) => !known.includes(organization))
  if (unknown === undefined) return
  const names = [...new Set(known)].map(plainText)
  throw new UsageError(
    `unknown organization "${unknown}"${didYouMean(unknown, names)}: known are ${listedNames(names) || 'none yet'}`,
  )
}
