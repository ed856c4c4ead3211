import { writeFile as writeInto } from 'node:fs/promises'
import { dirname } from 'node:path'
import { shownMirror } from '../address/mirror-address.ts'
import { requireKnown } from '../config/suggestion.ts'
import { UsageError } from '../errors/errors.ts'
import { isOfSqlite } from '../errors/faults.ts'
import { publicColumns } from '../model/public-tables.ts'
import { closing } from '../store/mirror.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { READ_TO_END } from '../store/schema/views.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { lastNumber, nowIn, numberIn, openToRead } from '../store/sqlite/open-to-read.ts'
import { plainLines } from '../text/plain-text.ts'
import { listedNames } from '../text/wording.ts'
import { atPlace, copyError } from './copy-error.ts'
import type { Chunk, ExportColumn, ExportFacts, ExportRow, Format, FormatName, FormatSettings } from './format.ts'
import { loadFormat } from './format.ts'
import { idsOf, isRead, type Recorded, recordedIn } from './organizations.ts'
import { requireFeed, withFileToRead } from './read-rows.ts'
import { requireOwnFolder, requireTextPlace } from './target-place.ts'
import { untilStopped, writeToStream } from './write-results.ts'
import { writeFor } from './written-file.ts'

export type Selection = {
  /** Only the rows of these organizations; empty for those of all. */
  organizations: readonly string[]
  includeRemoved?: boolean | undefined
  /** What changed after this seq, in place of customers. */
  changesSince?: number | undefined
  /** Leave out what the dictionary calls personal. */
  withoutPersonalData?: boolean | undefined
}

/** `configured`: organizations of the configuration, which may be named although the file does not know them yet. */
type Selected = { selection: Selection; configured: readonly string[] }

export type ExportPlan = Selected & {
  mirror: string
  /** The configuration that named it; undefined where none was read. */
  configuration: string | undefined
  format: FormatName
  settings: FormatSettings
  /** The absolute path of a file, or a stream. */
  to: string | NodeJS.WritableStream
  /** On a terminal, what it would act on is written out. */
  isForTerminal?: boolean
}

/** Exports one state. Undefined where the reader closed the stream. Throws UsageError, CopyFailed, MirrorUnusable, and Interrupted. */
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
    const { chunks, exported } = beginExport(db, { ...asked, format })
    const shown = isForTerminal ? shownLines(chunks) : chunks
    const isWhole = await (typeof to === 'string' ? writeFile(to, chunks, signal) : writeToStream(to, shown, signal))
    return isWhole ? exported : undefined
  }
  const read = (file: string) => closing(openToRead(file, { asMade: true }), write)
  return withFileToRead(mirror, read, signal).catch((error: unknown) => {
    throw sqliteError(error, shownMirror(mirror))
  })
}

function* shownLines(chunks: Iterable<Chunk>): Generator<Chunk, void> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? plainLines(chunk.replaceAll('\r\n', '\n')) : chunk
}

/** Writes the file as a whole or not at all, and returns true. Errors of SQLite are of the mirror. */
async function writeFile(file: string, chunks: Iterable<Chunk>, signal: AbortSignal): Promise<boolean> {
  try {
    return await writeFor(file, async ({ path, place }) => {
      // Opened once, and made by no one else: where it was removed meanwhile, half an export would take its place.
      await writeInto(path, untilStopped(chunks, signal, `Stopped: ${file} was not written.`), { flag: 'r+' })
      place()
      return true
    })
  } catch (error) {
    throw isOfSqlite(error) ? error : copyError(error, file)
  }
}

/** `isPartition`: the rows are of one organization, and do not name it. */
type Exporting = Selected & { recorded?: Recorded; format: Format; isPartition?: boolean }

/** `leftOut`: organizations whose list was never read to its end. */
export type Exported = { rows: number; lastSeq: number; leftOut: string[] }

/** Begins to export one state of the file, in the transaction of the caller: rows are read as chunks are taken. Throws UsageError before that. */
export function beginExport(db: Connection, exporting: Exporting) {
  const { selection, configured, recorded = recordedIn(db), format, isPartition = false } = exporting
  const { changesSince } = selection
  const { read, leftOut } = selectOrganizations(recorded, selection.organizations, configured)
  const organizations = read.map((one) => ({ ...one, active: numberIn(db, ACTIVE, one.organization) }))
  const ids = JSON.stringify(idsOf(read))
  const known =
    'SELECT max((SELECT coalesce(MAX(seq), 0) FROM changes), (SELECT coalesce(MAX(feed_seq), 0) FROM horizons))'
  const lastSeq = numberIn(db, known)
  // A reader may have read changes that were deleted with their organization since.
  const given = Math.max(lastSeq, lastNumber(db, 'changes'))
  if (changesSince !== undefined) requireFeed(changesSince, { given, deleted: numberIn(db, DELETED, ids) })
  const { table, columns, sql, parameters } = selectRows(db, selection, ids, isPartition)
  const statement = db.prepare<unknown[], ExportRow>(sql).raw()
  const exported: Exported = { rows: 0, lastSeq, leftOut }
  const counted = function* (): Generator<ExportRow, void> {
    for (const row of statement.iterate(...parameters)) {
      exported.rows += 1
      yield row
    }
  }
  const about = { table, columns, exportedAt: nowIn(db), changesSince, lastSeq, organizations }
  return { chunks: format(counted(), about), exported }
}

const DELETED = 'SELECT coalesce(MAX(feed_seq), 0) FROM horizons WHERE organization IN (SELECT value FROM json_each(?))'

const ACTIVE = 'SELECT COUNT(*) FROM customers WHERE organization = ? AND removed_at IS NULL'

/** Those named, or all of the mirror, as far as they were read to their end. Throws UsageError where none of them was. */
function selectOrganizations(recorded: Recorded, named: readonly string[], configured: readonly string[]) {
  const known = idsOf(recorded)
  requireKnown(named, [...configured, ...known])
  const wanted = new Set(named.length === 0 ? known : named)
  const read = recorded.filter(isRead).filter(({ organization }) => wanted.has(organization))
  if (read.length > 0) return { read, leftOut: [...wanted.difference(new Set(idsOf(read)))] }
  const which = wanted.size === 0 ? 'No list was ever' : `The list of ${listedNames([...wanted])} was never`
  throw new UsageError(`${which} read to its end: there is nothing whole to export. Run 'customer-mirror sync' first.`)
}

type Rows = Pick<ExportFacts, 'table' | 'columns'> & { sql: string; parameters: unknown[] }

/** The selected rows, with the public columns of the file. An index finds those of a partition; a plus keeps others in the order of the file. */
function selectRows(db: Connection, selection: Selection, ids: string, isPartition: boolean): Rows {
  const { changesSince, includeRemoved = false, withoutPersonalData = false } = selection
  const columnsOf = (table: string): ExportColumn[] => {
    const there = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
    return publicColumns(table)
      .filter(({ name }) => there.includes(name) && name !== 'row_id' && !(isPartition && name === 'organization'))
      .filter(({ personal }) => !(withoutPersonalData && personal))
      .map(({ name, type, meaning }) => ({ name, type, isJson: /^JSON\b/.test(meaning) }))
  }
  if (changesSince !== undefined) return selectFeed(db, changesSince, ids, columnsOf)
  const table = includeRemoved ? 'customers' : 'active_customers'
  const columns = columnsOf(table)
  const isSelected = `${isPartition ? '' : '+'}organization IN (SELECT value FROM json_each(?))`
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  const sql = `SELECT ${names} FROM customers WHERE ${isSelected} ${includeRemoved ? '' : 'AND removed_at IS NULL'}`
  return { table, columns, sql, parameters: [ids] }
}

/**
 * What brings a copy with all changes up to `since` to this state: a row for each later change, in order, with the customer as it is now; before
 * them a row `current`, with no seq, for each customer written later without a change, of an organization first read then, or missing or back.
 */
function selectFeed(db: Connection, since: number, ids: string, columnsOf: (table: string) => ExportColumn[]): Rows {
  const own = columnsOf('changes')
  const values = columnsOf('customers').flatMap((column) => {
    const name = own.every((each) => each.name !== column.name) ? column.name : BESIDE_A_CHANGE[column.name]
    return name === undefined ? [] : [{ ...column, name, value: `now."${column.name}"` }]
  })
  const select = (expressions: Readonly<Record<string, string>>, otherwise: string) => {
    const changed = own.map(({ name }) => expressions[name] ?? `${otherwise}."${name}"`)
    return [...changed, ...values.map(({ value }) => value)].join(', ')
  }
  const read = db.prepare<[number], { at: string; run: bigint }>(
    'SELECT changed_at AS at, run_id AS run FROM changes WHERE seq <= ? ORDER BY seq DESC LIMIT 1',
  )
  const { at, run } = read.get(since) ?? { at: '', run: 0n }
  return {
    table: 'changes',
    columns: [...own, ...values],
    sql: `SELECT ${select(CURRENT, 'now')} FROM customers AS now
        WHERE (${since === 0 ? '+' : ''}now.updated_at > ? OR now.organization IN (${LATE})) AND +now.organization IN (SELECT value FROM json_each(?))
          AND NOT EXISTS (SELECT 1 FROM changes AS later
            WHERE later.organization = now.organization AND later.id = now.id AND later.seq > ?)
      UNION ALL
      SELECT ${select(CHANGED, 'selected')} FROM changes AS selected
        LEFT JOIN customers AS now ON now.organization = selected.organization AND now.id = selected.id
        WHERE selected.seq > ? AND +selected.organization IN (SELECT value FROM json_each(?))`,
    parameters: [at, run, at, ids, since, since, ids],
  }
}

/** The names of columns of customers that changes have too, and with another meaning. */
const BESIDE_A_CHANGE: Readonly<Record<string, string>> = { changed_at: 'customer_changed_at' }

const CURRENT = {
  seq: 'NULL',
  run_id: 'now.last_run_id',
  change: `'current'`,
  fields: 'NULL',
  changed_at: 'now.updated_at',
}

/** As the changes have it for a removal, and otherwise as the customer has it now. */
const CHANGED = { missing_since: `iif(selected.change = 'removed', selected.missing_since, now.missing_since)` }

/** Organizations of which such a reader may know no row: their lists were first read to their end later, or a day before: clocks differ. */
const LATE = `SELECT organization FROM
    (SELECT MIN(id) AS id, organization, finished_at FROM runs WHERE ${READ_TO_END} GROUP BY organization) AS first
  WHERE id > ? OR finished_at >= strftime('%Y-%m-%d %H:%M:%f', ?, '-1 day')`
