import { resolve } from 'node:path'
import { UsageError } from '../../errors/errors.ts'
import { isLikeAddress } from '../../address/mirror-address.ts'

/** The absolute path of a file that is named on the command line. Throws UsageError for an empty name, and for an address. */
export function namedFile(text: string, what: string): string {
  if (text.trim() === '') throw new UsageError(`The name of the ${what} is empty: name a file.`)
  if (isLikeAddress(text))
    throw new UsageError(`The ${what} must be on this machine, and what is named is an address. Name a path.`)
  return absolutePath(text)
}

/** The absolute path. A slash at the end means a folder, and is not lost. */
export function absolutePath(text: string): string {
  return /[/\\]$/.test(text) ? `${resolve(text)}/` : resolve(text)
}
