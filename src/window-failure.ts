import { factsOf, SourceUnavailable } from './errors.ts'

/**
 * Why a window could not be read: `hole` at every attempt an error (a poison row), `size-refused` a 422 for its size,
 * `page-mismatch` another page or more rows than asked for, `repeated-page` an identical page under another number,
 * `cached-answer` an answer made before it was asked for, `too-large` more bytes than an answer may have.
 */
export type WindowFailure = 'hole' | 'size-refused' | 'page-mismatch' | 'repeated-page' | 'cached-answer' | 'too-large'

/**
 * What an error says about the one window that was asked for; undefined when it says something about the whole service, so
 * that the run has to end.
 */
export function windowFailureOf(error: unknown): WindowFailure | undefined {
  // The other statuses of a server in trouble come from what stands before it, and are the same for every window.
  if (error instanceof SourceUnavailable && error.status !== 500) return undefined
  return factsOf(error).window
}
