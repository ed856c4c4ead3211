import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { shownMirror } from '../address/mirror-address.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { atPlace, copyError } from './copy-error.ts'
import { beginExport, type BegunExport, type Exported, type Part } from './export-rows.ts'
import { bytesOf, type Chunk, type FormatName, type FormatSettings, loadFormat } from './format.ts'
import { openToRead, withFileToRead } from './open-to-read.ts'
import { lookAtFolder } from './objects/folder.ts'
import type { WrittenObject } from './objects/object-place.ts'
import type { Selection } from './selection.ts'
import { requireOwnFolder, requireTextPlace } from './target-place.ts'
import { untilStopped, writeToStream } from './write-stream.ts'
import { writeAll, writeFor } from './written-file.ts'

export type ExportPlan = {
  mirror: string
  /** The configuration that named it; undefined where none was read. */
  configuration: string | undefined
  /** Organizations of the configuration, which may be named although the mirror does not know them yet. */
  configured: readonly string[]
  selection: Selection
  format: FormatName
  settings: FormatSettings
  /** Absolute paths; a folder gets a file for each organization. */
  to: { file: string } | { folder: string } | { stream: NodeJS.WritableStream }
}

/**
 * Exports one state of a mirror or a copy. A file, or each of a folder, is in its place as a whole or not at all. Undefined where the reader of
 * the stream closed it before the end. Throws UsageError, CopyFailed, MirrorUnusable, and Interrupted after an abort.
 */
export async function exportMirror(plan: ExportPlan, signal: AbortSignal): Promise<Exported | undefined> {
  const { mirror, configuration, to, settings, selection, configured } = plan
  if ('file' in to)
    atPlace(to.file, () => {
      const instead = ', or - for standard output'
      requireTextPlace(to.file, { mirror, configuration, example: 'customers.csv', instead })
      requireOwnFolder(dirname(to.file), 'export')
    })
  const format = await loadFormat(plan.format, settings)
  const write = async (file: string) => {
    const opened = openToRead(file, { asMade: true })
    try {
      opened.db.exec('BEGIN')
      const begun = beginExport(opened.db, { selection, configured, format, isPartitioned: 'folder' in to })
      // What fails is of the mirror, and not of the place that the chunks are written to.
      const chunksOf = function* ({ chunks }: Part): Generator<Chunk, void> {
        try {
          yield* chunks
        } catch (error) {
          throw sqliteError(error, shownMirror(mirror))
        }
      }
      const parts = begun.parts.map((part) => ({ ...part, chunks: chunksOf(part) }))
      const isWhole = await writeParts(parts, { plan, done: begun.done, signal })
      opened.requireUnchanged()
      return isWhole ? begun.done() : undefined
    } catch (error) {
      throw sqliteError(error, shownMirror(mirror))
    } finally {
      opened.close()
    }
  }
  return withFileToRead(mirror, write, signal)
}

type Writing = { plan: ExportPlan; done: BegunExport['done']; signal: AbortSignal }

/** False where the reader of the stream closed it before the end. */
async function writeParts(parts: readonly Part[], { plan, done, signal }: Writing): Promise<boolean> {
  const { to, format, selection } = plan
  const chunks = parts[0]?.chunks ?? []
  if ('stream' in to) return writeToStream(to.stream, chunks, signal)
  if ('file' in to) await writeFile(to.file, untilStopped(chunks, signal, unwritten(to.file)))
  else {
    const { asOf, changesSince } = selection
    const place = lookAtFolder(to.folder, { extension: format })
    try {
      const organizations: WrittenObject[] = []
      for (const part of parts) {
        const object = place.begin(part.organization)
        try {
          for await (const chunk of untilStopped(part.chunks, signal, unwritten(to.folder))) object.write(chunk)
          organizations.push({ organization: part.organization, rows: part.rows(), ...(await object.put()) })
        } finally {
          object.close()
        }
      }
      const { exportedAt, lastSeq } = done()
      const facts = { exported_at: exportedAt, as_of: asOf, changes_since: changesSince, last_seq: lastSeq }
      await place.finish({ ...facts, organizations, replaced: [] }, true)
    } finally {
      place.close()
    }
  }
  return true
}

async function writeFile(file: string, chunks: AsyncIterable<Chunk>): Promise<void> {
  const write = writeFor(file, async ({ path, place }) => {
    const descriptor = openSync(path, 'r+')
    try {
      for await (const chunk of chunks) writeAll(descriptor, bytesOf(chunk))
    } finally {
      closeSync(descriptor)
    }
    place()
  })
  await write.catch((error: unknown) => {
    throw copyError(error, file)
  })
}

function unwritten(place: string): string {
  return `Stopped: ${place} was not written.`
}
