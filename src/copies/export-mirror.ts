import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { shownMirror } from '../address/mirror-address.ts'
import { Interrupted } from '../errors/errors.ts'
import { codeOf, isOfSqlite } from '../errors/faults.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { openToRead } from '../store/sqlite/open-to-read.ts'
import { plainLines } from '../text/plain-text.ts'
import { atPlace, copyError, resultsError } from './copy-error.ts'
import { type Chunk, type FormatName, type FormatSettings, loadFormat } from './format.ts'
import { withFileToRead } from './read-rows.ts'
import { beginExport, type Exported, type Selection } from './selection.ts'
import { requireOwnFolder, requireTextPlace } from './target-place.ts'
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
  const write = async (file: string) => {
    const db = openToRead(file, { asMade: true })
    try {
      db.exec('BEGIN')
      const { chunks, done } = beginExport(db, { ...asked, format })
      const shown = isForTerminal ? shownLines(chunks) : chunks
      const isWhole = await (typeof to === 'string' ? writeFile(to, chunks, signal) : writeToStream(to, shown, signal))
      return isWhole ? done() : undefined
    } catch (error) {
      throw sqliteError(error, shownMirror(mirror))
    } finally {
      db.close()
    }
  }
  return withFileToRead(mirror, write, signal)
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

/**
 * Writes chunks to a stream as fast as it is read, and takes them as it does. Returns false if its reader has closed it. Throws Interrupted after
 * an abort, also while the reader waits, and UsageError or CopyFailed where the stream fails.
 */
export async function writeToStream(
  stream: NodeJS.WritableStream,
  chunks: Iterable<Chunk> | AsyncIterable<Chunk>,
  signal: AbortSignal,
): Promise<boolean> {
  // A failure is that of a write, and is thrown there; the stream reports it a second time, also later.
  stream.on('error', () => {})
  // A stream does not notice where a full disk took a part of a chunk.
  const file = 'fd' in stream && typeof stream.fd === 'number' && fstatSync(stream.fd).isFile() ? stream.fd : undefined
  for await (const chunk of untilStopped(chunks, signal, UNFINISHED)) {
    try {
      if (file === undefined) await written(stream, chunk, signal)
      else writeFileSync(file, chunk)
    } catch (error) {
      if (codeOf(error) === 'EPIPE') return false
      throw resultsError(error)
    }
  }
  return true
}

/** Chunks as they come, until the signal: then it throws Interrupted, with this message. Signals are taken between two of them. */
async function* untilStopped(
  chunks: Iterable<Chunk> | AsyncIterable<Chunk>,
  signal: AbortSignal,
  message: string,
): AsyncGenerator<Chunk, void> {
  for await (const chunk of chunks) {
    if (signal.aborted) throw new Interrupted(message)
    yield chunk
    await setImmediate()
  }
}

function written(stream: NodeJS.WritableStream, chunk: Chunk, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Interrupted(UNFINISHED))
    signal.addEventListener('abort', stop, { once: true })
    stream.write(chunk, (error) => {
      signal.removeEventListener('abort', stop)
      if (error) reject(error)
      else resolve()
    })
  })
}

const UNFINISHED = 'Stopped: what was written is not all of it.'
