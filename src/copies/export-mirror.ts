import { closeSync, openSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { shownMirror } from '../address/mirror-address.ts'
import { isOfSqlite } from '../errors/faults.ts'
import { closing } from '../store/mirror.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { openToRead } from '../store/sqlite/open-to-read.ts'
import { plainLines } from '../text/plain-text.ts'
import { atPlace, copyError } from './copy-error.ts'
import { type Chunk, type FormatName, type FormatSettings, loadFormat } from './format.ts'
import { withFileToRead } from './read-rows.ts'
import { beginExport, type Exported, type Selection } from './selection.ts'
import { requireOwnFolder, requireTextPlace } from './target-place.ts'
import { untilStopped, writeToStream } from './write-results.ts'
import { writeFor } from './written-file.ts'

export type ExportPlan = {
  mirror: string
  /** The configuration that named it; undefined where none was read. */
  configuration: string | undefined
  /** Organizations of the configuration, which may be named although the mirror does not know them yet. */
  configured: readonly string[]
  selection: Selection
  format: FormatName
  settings: FormatSettings
  /** The absolute path of a file, or a stream. */
  to: string | NodeJS.WritableStream
  /** On a terminal, what it would act on is written out. */
  isForTerminal?: boolean
}

/**
 * Exports one state of a mirror or a copy. A file is in its place as a whole or not at all. Undefined where the reader of the stream closed it
 * before the end. Throws UsageError, CopyFailed, MirrorUnusable, and Interrupted after an abort.
 */
export async function exportMirror(plan: ExportPlan, signal: AbortSignal): Promise<Exported | undefined> {
  const { mirror, configuration, to, settings, isForTerminal = false, ...asked } = plan
  if (typeof to === 'string')
    atPlace(to, () => {
      requireTextPlace(to, mirror, configuration)
      requireOwnFolder(dirname(to), 'export')
    })
  const format = await loadFormat(plan.format, settings)
  const write = async (db: Connection) => {
    db.exec('BEGIN')
    const { chunks, done } = beginExport(db, { ...asked, format })
    const shown = isForTerminal ? shownLines(chunks) : chunks
    const isWhole = await (typeof to === 'string' ? writeFile(to, chunks, signal) : writeToStream(to, shown, signal))
    return isWhole ? done() : undefined
  }
  const read = (file: string) => closing(openToRead(file, { asMade: true }), write)
  return withFileToRead(mirror, read, signal).catch((error: unknown) => {
    throw sqliteError(error, shownMirror(mirror))
  })
}

function* shownLines(chunks: Iterable<Chunk>): Generator<Chunk, void> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? plainLines(chunk.replaceAll('\r\n', '\n')) : chunk
}

/** Returns true: all of it is written. Errors of SQLite are of the mirror. */
async function writeFile(file: string, chunks: Iterable<Chunk>, signal: AbortSignal): Promise<boolean> {
  try {
    return await writeFor(file, async ({ path, place }) => {
      const descriptor = openSync(path, 'r+')
      try {
        for await (const chunk of untilStopped(chunks, signal, `Stopped: ${file} was not written.`))
          writeFileSync(descriptor, chunk)
      } finally {
        closeSync(descriptor)
      }
      place()
      return true
    })
  } catch (error) {
    throw isOfSqlite(error) ? error : copyError(error, file)
  }
}
