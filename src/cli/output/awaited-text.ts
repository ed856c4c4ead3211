import { describeError } from '../../errors/errors.ts'
import { duration } from './wording.ts'

/** Why a command waits for its mirror before it begins. */
export function awaitedText(error: unknown, longestWaitMs: number): string {
  return `${describeError(error).message}\nWaiting for it, ${duration(longestWaitMs)} at most. Ctrl-C ends this.\n`
}
