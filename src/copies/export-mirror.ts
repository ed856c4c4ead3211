import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { shownMirror } from '../address/mirror-address.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { atPlace, copyError } from './copy-error.ts'
import { beginExport, type BegunExport, type Exported, type Exporting, type Part } from './export-rows.ts'
import { bytesOf, type Chunk, type FormatName, type FormatSettings, loadFormat } from './format.ts'
import { openToRead, withFileToRead } from './open-to-read.ts'
import { lookAtFolder } from './objects/folder.ts'
import type { WrittenObject } from './objects/object-place.ts'
import type { Selection } from './selection.ts'
import { requireOwnFolder, requireTextPlace } from './target-place.ts'
import { untilStopped, writeToStream } from './write-stream.ts'
import { writeAll, writeFor } from './written-file.ts'

export type ExportPlan = {
  /** A mirror, or a published copy. */
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

type WhileExporting = Pick<Exporting, 'onProgress'> & { signal: AbortSignal }

/**
 * Exports one state of a mirror or a copy. A file, or each of a folder, is in its place as a whole or not at all. Undefined where the reader of
 * the stream closed it before the end. Throws UsageError, CopyFailed, MirrorUnusable, and Interrupted after an abort.
 */
export async function exportMirror(
  plan: ExportPlan,
  { signal, onProgress }: WhileExporting,
): Promise<Exported | undefined> {
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
    const begin = () => {
      const isPartitioned = 'folder' in to
      return beginExport(opened.db, { selection, configured, format, isPartitioned, onProgress })
    }
    try {
      opened.db.exec('BEGIN')
      const done = await writeExport(begin, plan, signal)
      opened.requireUnchanged()
      return done
    } catch (error) {
      throw sqliteError(error, shownMirror(mirror))
    } finally {
      opened.close()
    }
  }
  return withFileToRead(mirror, write, signal)
}

/** `begin` is called when the place is ready, and throws before anything is written. */
async function writeExport(begin: () => BegunExport, { to, ...plan }: ExportPlan, signal: AbortSignal) {
  if ('stream' in to) {
    const { parts, done } = begin()
    return (await writeToStream(to.stream, chunksOf(parts, plan), signal)) ? done() : undefined
  }
  return 'file' in to
    ? toFile(begin, { ...plan, file: to.file }, signal)
    : toFolder(begin, { ...plan, folder: to.folder }, signal)
}

type Planned = Omit<ExportPlan, 'to'>

/** The chunks of all parts. What fails is of the mirror, and not of the place that they are written to. */
function* chunksOf(parts: readonly Part[], { mirror }: Pick<Planned, 'mirror'>): Generator<Chunk, void> {
  try {
    for (const { chunks } of parts) yield* chunks
  } catch (error) {
    throw sqliteError(error, shownMirror(mirror))
  }
}

async function toFile(
  begin: () => BegunExport,
  { file, ...plan }: Planned & { file: string },
  signal: AbortSignal,
): Promise<Exported> {
  const write = writeFor(file, async ({ path, place }) => {
    const { parts, done } = begin()
    const descriptor = openSync(path, 'r+')
    try {
      for await (const chunk of untilStopped(chunksOf(parts, plan), signal, unwritten(file)))
        writeAll(descriptor, bytesOf(chunk))
    } finally {
      closeSync(descriptor)
    }
    place()
    return done()
  })
  return write.catch((error: unknown) => {
    throw copyError(error, file)
  })
}

async function toFolder(
  begin: () => BegunExport,
  { folder, ...plan }: Planned & { folder: string },
  signal: AbortSignal,
): Promise<Exported> {
  const place = lookAtFolder(folder, { extension: plan.format })
  try {
    const { parts, done } = begin()
    const organizations: WrittenObject[] = []
    for (const part of parts) {
      const object = place.begin(part.organization)
      try {
        for await (const chunk of untilStopped(chunksOf([part], plan), signal, unwritten(folder))) object.write(chunk)
        const put = await object.put()
        if (put !== undefined) organizations.push({ organization: part.organization, rows: part.rows(), ...put })
      } finally {
        object.close()
      }
    }
    const exported = done()
    const { asOf, changesSince } = plan.selection
    const facts = { as_of: asOf, changes_since: changesSince, last_seq: exported.lastSeq }
    await place.finish({ exported_at: exported.exportedAt, ...facts, organizations, replaced: [] }, true)
    return exported
  } finally {
    place.close()
  }
}

function unwritten(place: string): string {
  return `Stopped: ${place} was not written.`
}
