import { CopyFailed, UsageError } from '../errors/errors.ts'
import { messageOf, type Seen, seenIn, type Where } from '../errors/faults.ts'

/** Does what follows once a file is in its place. A failure of the system there is an error of ours; `what` says what it left. */
export function afterPlacing<Result>(place: string, what: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    const seen = seenIn(error)
    if (seen === undefined) throw error
    const said = `is in its place, but ${what}: ${seen.said}`
    throw copyFault(place, { fault: seen.fault, said }, { kept: '', cause: error })
  }
}

const UNCHANGED = 'What was there before is unchanged.'

/** A failure of SQLite or of the file system at `place` as CopyFailed or UsageError; any other error unchanged. `kept` says what stays there. */
export function copyError(error: unknown, place: string, kept = UNCHANGED): unknown {
  const seen = seenIn(error)
  return seen === undefined ? error : copyFault(place, seen, { kept, cause: error })
}

type Words = { where?: Where; kept?: string; cause?: unknown }

/** A fault of a copy. What a person has to correct is a UsageError, as for a place that may not be replaced. */
export function copyFault(place: string, seen: Seen, { where = 'file', kept = UNCHANGED, cause }: Words = {}) {
  const message = messageOf(place, seen, { where, kept })
  if (seen.fault === 'full' || seen.fault === 'busy' || seen.fault === 'gone')
    return new CopyFailed(message, { code: seen.fault }, { cause })
  return new UsageError(message, { cause })
}

/** Writes a copy at a place, and throws its failures as `copyError` describes them. */
export function atPlace<Result>(place: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw copyError(error, place)
  }
}

/** A failure of the system while results were written to standard output, as CopyFailed or UsageError; any other error unchanged. */
export function resultsError(error: unknown): unknown {
  return copyError(error, 'standard output', 'What was written is not all of it.')
}
