import { closeSync, fstatSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { shownMirror } from '../address/mirror-address.ts'
import { Interrupted, UsageError } from '../errors/errors.ts'
import { codeOf, isOfSqlite } from '../errors/faults.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { listedNames } from '../text/wording.ts'
import { atPlace, copyError, resultsError } from './copy-error.ts'
import {
  bytesOf,
  type Chunk,
  type ExportRow,
  type Format,
  type FormatName,
  type FormatSettings,
  loadFormat,
} from './format.ts'
import { lookAtFolder } from './objects/folder.ts'
import type { WrittenObject } from './objects/object-place.ts'
import { nowIn, numberIn, openToRead, withFileToRead } from './open-to-read.ts'
import { isRead, type ReadOrganization, type Recorded, recordedIn, requireKnown } from './organizations.ts'
import { feedStart, lastGiven, lastSeq, lastSeqAt, type Selection, selectRows, tableOf } from './selection.ts'
import { requireOwnFolder, requireTextPlace } from './target-place.ts'
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

export type Exported = {
  rows: number
  exportedAt: string
  lastSeq: number
  /** Organizations whose list was never read to its end, or not by then. */
  leftOut: { organization: string; firstReadAt: string | undefined }[]
  /** With `asOf`, the organizations whose list was last read before then: what they are known to hold is from that reading. */
  readBefore: { organization: string; readAsOf: string }[]
}

/**
 * Exports one state of a mirror or a copy. A file, or each of a folder, is in its place as a whole or not at all. Undefined where the reader of
 * the stream closed it before the end. Throws UsageError, CopyFailed, MirrorUnusable, and Interrupted after an abort.
 */
export async function exportMirror(plan: ExportPlan, signal: AbortSignal): Promise<Exported | undefined> {
  const { mirror, configuration, to, settings, ...asked } = plan
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
      const begun = beginExport(opened.db, { ...asked, format, isPartitioned: 'folder' in to })
      const isWhole = await writeParts(begun, plan, signal)
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

/** False where the reader of the stream closed it before the end. */
async function writeParts(
  { parts, done }: BegunExport,
  { to, format, selection }: ExportPlan,
  signal: AbortSignal,
): Promise<boolean> {
  if ('stream' in to) return writeToStream(to.stream, parts[0]?.chunks ?? [], signal)
  if ('file' in to) {
    await writeFile(to.file, untilStopped(parts[0]?.chunks ?? [], signal, `Stopped: ${to.file} was not written.`))
    return true
  }
  const place = lookAtFolder(to.folder, { extension: format })
  try {
    const organizations: WrittenObject[] = []
    for (const { organization, chunks, rows } of parts) {
      const object = place.begin(organization)
      try {
        const stopped = `Stopped: ${to.folder} was not written.`
        for await (const chunk of untilStopped(chunks, signal, stopped)) object.write(chunk)
        organizations.push({ organization, rows: rows(), ...(await object.put()) })
      } finally {
        object.close()
      }
    }
    const { exportedAt, lastSeq: last_seq } = done()
    const facts = { exported_at: exportedAt, as_of: selection.asOf, changes_since: selection.changesSince, last_seq }
    await place.finish({ ...facts, organizations, replaced: [] }, true)
    return true
  } finally {
    place.close()
  }
}

/** Errors of SQLite are of the mirror. */
async function writeFile(file: string, chunks: AsyncIterable<Chunk>): Promise<void> {
  try {
    await writeFor(file, async ({ path, place }) => {
      const descriptor = openSync(path, 'r+')
      try {
        for await (const chunk of chunks) writeAll(descriptor, bytesOf(chunk))
      } finally {
        closeSync(descriptor)
      }
      place()
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
      else writeAll(file, bytesOf(chunk))
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

/*
 * What is exported, from one state of a file.
 */

type Exporting = Pick<ExportPlan, 'selection' | 'configured'> & {
  recorded?: Recorded
  format: Format
  /** A part for each organization, whose rows do not name it. */
  isPartitioned?: boolean
}

/** A file of an export: all rows, or those of one organization, as they are read. */
type Part = { organization: string; chunks: Iterable<Chunk>; rows: () => number }

/** An export whose parts are read as they are written. What was exported is known in the end. */
type BegunExport = { parts: Part[]; done: () => Exported }

/**
 * Begins to export the selected rows of one state of the file, whose transaction the caller holds. Throws UsageError before anything is read.
 */
export function beginExport(
  db: Connection,
  { selection, configured, recorded = recordedIn(db), format, isPartitioned = false }: Exporting,
): BegunExport {
  const { changesSince, asOf } = selection
  const { leftOut, ...selected } = selectOrganizations(recorded, selection, configured)
  const read = selected.read.map((one) => ({ ...one, active: countActive(db, one.organization) }))
  const seq = asOf === undefined ? lastSeq(db) : lastSeqAt(db, asOf)
  const exportedAt = nowIn(db)
  requireTold(db, selection, { seq, exportedAt, organizations: idsOf(read) })
  let all = 0
  const partOf = (organizations: typeof read): Part => {
    const { columns, sql, parameters } = selectRows(db, selection, idsOf(organizations), { isPartition: isPartitioned })
    const statement = db.prepare<unknown[], ExportRow>(sql).raw()
    let count = 0
    const counted = function* (): Generator<ExportRow, void> {
      for (const row of statement.iterate(...parameters)) {
        count += 1
        all += 1
        yield row
      }
    }
    const about = { table: tableOf(selection), columns, exportedAt, asOf, changesSince, lastSeq: seq, organizations }
    return { organization: idsOf(organizations).join(), chunks: format(counted(), about), rows: () => count }
  }
  const parts = isPartitioned ? read.map((one) => partOf([one])) : [partOf(read)]
  const readBefore = read.filter(({ readAsOf }) => asOf !== undefined && readAsOf < asOf)
  return { parts, done: () => ({ rows: all, exportedAt, lastSeq: seq, leftOut, readBefore }) }
}

function idsOf(organizations: readonly { organization: string }[]): string[] {
  return organizations.map(({ organization }) => organization)
}

/** Those that are active, by two counts that an index answers. */
function countActive(db: Connection, organization: string): number {
  const all = 'SELECT COUNT(*) FROM customers WHERE organization = ?'
  return numberIn(db, all, organization) - numberIn(db, `${all} AND removed_at IS NOT NULL`, organization)
}

/** Throws UsageError where the file does not hold, or no longer, what would be exported: changes from there on, or the customers of then. */
function requireTold(
  db: Connection,
  { changesSince, asOf }: Selection,
  { seq, exportedAt, organizations }: { seq: number; exportedAt: string; organizations: readonly string[] },
): void {
  const start = feedStart(db, organizations)
  if (changesSince !== undefined && changesSince > lastGiven(db))
    throw new UsageError(
      `There is no change ${changesSince} yet: the last one is ${seq}. Use the last seq of what you have.`,
    )
  if (changesSince !== undefined && changesSince + 1 < start.seq)
    throw new UsageError(
      `The changes before ${start.seq} were deleted, or undone by a restore: start again from a copy, and continue from its last seq.`,
    )
  if (asOf !== undefined && asOf > exportedAt)
    throw new UsageError(`${asOf} lies in the future: it is ${exportedAt} UTC now.`)
  if (asOf !== undefined && asOf < start.at)
    throw new UsageError(`What is from before ${start.at} was deleted, so the customers of ${asOf} are not known.`)
}

/**
 * Those named, or all of the mirror; with `asOf`, those that had been read to their end by then. Throws UsageError where there is
 * none to export.
 */
function selectOrganizations(
  recorded: Recorded,
  { organizations: named, asOf }: Selection,
  configured: readonly string[],
): { read: ReadOrganization[]; leftOut: Exported['leftOut'] } {
  const known = idsOf(recorded)
  requireKnown(named, { known, configured })
  const wanted = new Set(named.length === 0 ? known : named)
  const found = recorded.filter(({ organization }) => wanted.has(organization)).filter(isRead)
  const read = found.filter(({ firstReadAt }) => asOf === undefined || firstReadAt <= asOf)
  if (read.length === 0 && found.length > 0) {
    const [first] = found.map(({ firstReadAt }) => firstReadAt).toSorted()
    throw new UsageError(
      `${asOf} is before the first complete run, which ended at ${first}: the customers of then are not known.`,
    )
  }
  if (read.length === 0) {
    const which = wanted.size === 0 ? 'No list was ever' : `The list of ${listedNames([...wanted])} was never`
    throw new UsageError(
      `${which} read to its end, so there is nothing whole to export. Run 'customer-mirror sync' first.`,
    )
  }
  const leftOut = [...wanted.difference(new Set(idsOf(read)))].map((organization) => {
    return { organization, firstReadAt: found.find((one) => one.organization === organization)?.firstReadAt }
  })
  return { read, leftOut }
}
