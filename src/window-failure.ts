import { ContractBroken, SourceRefused, SourceUnavailable } from './errors.ts'
import type { WindowFailure } from './scan/window.ts'

/**
 * What an error says about the one window that was asked for; undefined when it says something about the whole service, so
 * that the run has to end.
 */
export function windowFailureOf(error: unknown): WindowFailure | undefined {
  if (error instanceof SourceUnavailable) return error.status === 500 ? 'hole' : undefined
  if (error instanceof SourceRefused) return error.code === 'unprocessable' ? 'size-refused' : undefined
  if (!(error instanceof ContractBroken)) return undefined
  if (error.code === 'not-utf8') return 'hole'
  if (error.code === 'repeated-page' || error.code === 'cached-answer' || error.code === 'too-large') return error.code
  return error.code === 'page-mismatch' || error.code === 'size-mismatch' ? 'page-mismatch' : undefined
}
