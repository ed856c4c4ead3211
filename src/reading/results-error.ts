import { ExportFailed } from '../errors/errors.ts'
import { isFull, systemCode } from '../errors/code-of.ts'

/** A failure of the system while results were written to standard output, as ExportFailed; any other error unchanged. */
export function resultsError(error: unknown): unknown {
  const code = systemCode(error)
  if (code === undefined) return error
  const lost = (what: string, kind: 'export-full' | 'export-unwritable') =>
    new ExportFailed(
      `standard output: ${what} What was written is not all of it. (${code})`,
      { code: kind },
      { cause: error },
    )
  return isFull(code) ? lost(NO_ROOM, 'export-full') : lost('cannot be written there.', 'export-unwritable')
}

export const NO_ROOM = 'the disk is full, a quota is used up, or the disk failed.'
