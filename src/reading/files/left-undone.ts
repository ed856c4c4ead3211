import { systemCode } from '../../errors/code-of.ts'

/** A file is in its place, but something that had to follow failed. The message follows the name of the file, and says what. */
export class LeftUndone extends Error {
  override name = 'LeftUndone' as const
}

/** Does what follows once a file is in its place. A failure of the system there is a LeftUndone; `what` says what it left. */
export function afterPlacing<Result>(what: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    throw new LeftUndone(`is in its place, but ${what}. Check the disk. (${code})`, { cause: error })
  }
}
