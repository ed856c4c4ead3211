import { UsageError } from '../errors/errors.ts'
import { plainName } from '../privacy/hidden-values.ts'
import { plainText } from '../text/plain-text.ts'
import { listedNames } from '../text/wording.ts'
import { closestMatch } from 'leven'

/** ` (did you mean "x"?)` when one of `known` is close to what was written, or the empty string. */
export function didYouMean(written: string, known: readonly string[]): string {
  const target = plainName(written)
  // Long text is not a misspelt word, and comparing it with every known word would be slow.
  if (target === '' || target.length > 64) return ''
  // Two swapped letters, the most common slip, are a distance of two.
  const maxDistance = target.length < 4 ? 1 : Math.max(2, Math.floor(target.length / 3))
  const closest = closestMatch(target, known.map(plainName), { maxDistance })
  const match = known.find((candidate) => plainName(candidate) === closest)
  return match === undefined ? '' : ` (did you mean "${match}"?)`
}

/** Throws UsageError where one of these is not known. */
export function requireKnown(named: readonly string[], known: readonly string[]): void {
  const unknown = named.find((organization) => !known.includes(organization))
  if (unknown === undefined) return
  const names = [...new Set(known)].map(plainText)
  throw new UsageError(
    `unknown organization "${unknown}"${didYouMean(unknown, names)}: known are ${listedNames(names) || 'none yet'}`,
  )
}
