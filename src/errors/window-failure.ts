import { factsOf, SourceUnavailable } from './errors.ts'

/**
 * Why a window could not be read. `hole`: every attempt failed (a poison row). `size-refused`: a 422 for its size.
 * `page-mismatch`: another page, or more rows, than requested. `repeated-page`: an identical page under another number.
 * `cached-answer`: an answer older than the request. `too-large`: more bytes than an answer may have.
 */
export type WindowFailure = 'hole' | 'size-refused' | 'page-mismatch' | 'repeated-page' | 'cached-answer' | 'too-large'

/**
 * The failure of the requested window; undefined if the error concerns the whole service, so that the run has to end.
 */
export function windowFailureOf(error: unknown): WindowFailure | undefined {
  // Other 5xx statuses come from a proxy in front of the service, and concern every window.
  if (error instanceof SourceUnavailable && error.status !== 500) return undefined
  return factsOf(error).window
}
