import * as z from 'zod'
import { PROGRAM_VERSION } from '../../machine/version.ts'
import { TEXT_FIELDS, WARNING_KINDS, type Row } from '../../model/customer.ts'
import { FINGERPRINT_STEPS } from '../../model/fingerprint.ts'
import {
  EMPTY_LIST,
  emptyColumns,
  stretch,
  type LaterOrder,
  type ListAsRead,
  type ListColumns,
} from '../../model/list-as-read.ts'
import type { AnsweredWindow } from '../../model/page.ts'
import { RowSet } from '../../model/row-set.ts'
import { emptyTally, type RecordedWindow, type Run } from '../../model/run.ts'
import { isIn, joined, replacing, rowsOf, sql, text } from '../port/sql.ts'
import { LEFT_OUT, records, type Session, together } from '../port/store.ts'
import { parsedJson } from '../../text/parsed-json.ts'

/** The list of an organization as its last complete run read it; empty if this program has none to rely on. */
export async function loadList(session: Session, organization: string): Promise<ListAsRead> {
  const stored = await session.first<StoredList>(sql`
    SELECT facts, later_rows, pending_rows FROM lists WHERE organization = ${organization} AND reader = ${READER}`)
  const facts = stored && factsSchema.safeParse(parsedJson(stored.facts)).data
  const columns = facts && (await loadColumns(session, organization, facts.customers))
  // A damaged list is ignored.
  if (facts === undefined || columns === undefined) return EMPTY_LIST
  const { later_rows: later, pending_rows: pending } = stored ?? {}
  return { columns, ...facts, later: later ? { rowIds: rowsIn(later), pending: [...rowsIn(pending)] } : undefined }
}

type StoredList = { facts: string; later_rows: Buffer | null; pending_rows: Buffer | null }

const factsSchema = z.object({
  customers: z.int(),
  warnings: z.array(z.partialRecord(z.enum(WARNING_KINDS), z.int())).readonly(),
  total: z.int().optional(),
  cappedAt: z.int().optional(),
})

/** Stores the list of a complete run, in place of the one it began with; unchanged customers are not written. */
export async function storeList(session: Session, run: Run, list: ListAsRead) {
  const { organization, id, edits } = run
  const { columns, warnings, total, cappedAt } = list
  const facts: z.input<typeof factsSchema> = { customers: columns.rowIds.length, warnings, total, cappedAt }
  const isUnchanged = columns === run.list.columns && run.list !== EMPTY_LIST
  await together(
    session.run(sql`
      INSERT INTO lists (organization, run_id, reader, facts) VALUES (${organization}, ${id}, ${READER}, ${JSON.stringify(facts)})
      ON CONFLICT (organization) ${text(replacing('run_id', 'reader', 'facts', 'later_rows', 'pending_rows'))}`),
    isUnchanged ? LEFT_OUT : storeColumns(session, organization, columns),
    edits.length === 0
      ? LEFT_OUT
      : session.run(sql`DELETE FROM edited_customers WHERE organization = ${organization} AND ${isIn('edit', edits)}`),
  )
}

/** Stores what a partial run found out about the order of the list since it was read. */
export async function storeLaterOrder(session: Session, organization: string, { rowIds, pending }: LaterOrder) {
  await session.run(sql`
    UPDATE lists SET later_rows = ${bytesOf(rowIds)}, pending_rows = ${bytesOf(Uint32Array.from(pending))}
    WHERE organization = ${organization} AND reader = ${READER}`)
}

/** A program with other fields stores the same record in another way, so it reads every record again; so does one with other fingerprints. */
const READER = `${PROGRAM_VERSION} ${FINGERPRINT_STEPS} ${TEXT_FIELDS.join(' ')}`

/** Customers whose columns are stored together: in one row of a million, a database would hold 18 MB several times. */
const PART = 10_000

async function storeColumns(session: Session, organization: string, columns: ListColumns) {
  const parts = Math.ceil(columns.rowIds.length / PART)
  await session.run(sql`DELETE FROM list_columns WHERE organization = ${organization} AND part >= ${parts}`)
  for (let part = 0; part < parts; part += 1) {
    const stored = partOf(columns, part)
    const names = Object.keys(stored)
    await session.run(sql`
      INSERT INTO list_columns (organization, part, ${text(names.join(', '))})
      VALUES (${joined([organization, part, ...Object.values(stored)])})
      ON CONFLICT (organization, part) ${text(replacing(...names))}`)
  }
}

/** The columns of so many customers as they are stored; undefined if they are damaged. */
async function loadColumns(session: Session, organization: string, count: number): Promise<ListColumns | undefined> {
  const columns = emptyColumns(count)
  for (let part = 0; PART * part < count; part += 1) {
    const own = partOf(columns, part)
    const stored = await session.first<Record<string, Buffer>>(sql`
      SELECT ${text(Object.keys(own).join(', '))} FROM list_columns WHERE organization = ${organization} AND part = ${part}`)
    for (const [name, bytes] of Object.entries(own)) {
      if (stored?.[name]?.length !== bytes.length) return undefined
      stored[name].copy(bytes)
    }
  }
  return columns
}

/** A part of the columns, in their own memory. */
function partOf(columns: ListColumns, part: number) {
  const own = stretch(columns, PART * part, PART * (part + 1))
  return {
    row_ids: bytesOf(own.rowIds),
    fingerprints: bytesOf(own.fingerprints),
    id_prints: bytesOf(own.idFingerprints),
    comparisons: bytesOf(own.comparisons),
    oddities: bytesOf(own.oddities),
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function rowsIn(bytes: Buffer | null | undefined): Uint32Array {
  const rowIds = new Uint32Array((bytes?.length ?? 0) >>> 2)
  bytes?.copy(bytesOf(rowIds))
  return rowIds
}

/** Customers that may differ from the list: written since it was read, by a run or by hand, or no longer listed. */
export async function findDoubts(session: Session, organization: string): Promise<Pick<Run, 'doubted' | 'edits'>> {
  const own = sql`organization = ${organization}`
  const stored = sql`(SELECT run_id FROM lists WHERE ${own})`
  const [edits, absent, since] = await together(
    session.all<{ edit: number; row_id: number }>(
      sql`SELECT edit, row_id FROM edited_customers WHERE ${own} ORDER BY edit`,
    ),
    session.numbers(sql`
      SELECT row_id FROM customers WHERE ${own} AND (missing_since IS NOT NULL OR removed_at IS NOT NULL)`),
    session.first(sql`SELECT 1 FROM runs WHERE ${own} AND id > ${stored} AND inserted + updated > 0 LIMIT 1`),
  )
  // Customers are looked at only where runs have written any since.
  const written =
    since === undefined
      ? []
      : await session.numbers(sql`SELECT row_id FROM customers WHERE ${own} AND last_run_id > ${stored}`)
  const doubted = new RowSet([...edits.map(({ row_id }) => row_id), ...absent, ...written])
  return { doubted, edits: edits.map(({ edit }) => edit) }
}

/** The recorded windows of a run, in the order of their positions. */
export async function readWindows(session: Session, run: Pick<Run, 'id'>): Promise<StoredWindow[]> {
  const recorded = sql`
    SELECT start / size + 1 AS page, size, per_page, total, beyond_end, row_ids, rejected FROM windows
    WHERE run_id = ${run.id} ORDER BY start, size`
  const windows = await records<Omit<StoredWindow, 'rowIds'> & { rowIds: Buffer }>(session, recorded)
  return windows.map((window) => ({ ...window, rowIds: rowIdsIn(window.rowIds) }))
}

/** The windows of the run that this run continues, in order of position, each built when it is needed. Read them before saving pages. */
export async function recallWindows(session: Session, run: Run): Promise<Iterable<RecordedWindow>> {
  if (run.resumedFrom === undefined) return []
  const windows = await readWindows(session, run)
  const customers = await findCustomers(session, run)
  return windows.values().map(({ rowIds, rejected, ...window }) => {
    return { ...window, rows: recordedRows(rowIds, [...rejected], customers) }
  })
}

const AT_ONCE = 20_000

/** The customers that a run has seen, at the places of their row numbers. */
async function findCustomers(session: Session, { organization, seen }: Run): Promise<Row[]> {
  const found: Row[] = []
  const rowIds = [...seen]
  for (let from = 0; from < rowIds.length; from += AT_ONCE) {
    const rows = await session.all<{ row_id: number; id: string; created_at: string | null }>(sql`
      SELECT row_id, id, created_at FROM customers
      WHERE ${rowsOf(organization, rowIds.slice(from, from + AT_ONCE))}`)
    for (const { row_id: rowId, id, created_at } of rows)
      found[rowId] = { id, createdAt: created_at ?? undefined, rowId }
  }
  return found
}

export async function forgetWindows(session: Session, organization: string) {
  await session.run(sql`DELETE FROM windows WHERE run_id IN (SELECT id FROM runs WHERE organization = ${organization})`)
}

/** What is kept from run to run to recognize a list. Without it, the next run reads every record. */
export const MEMORY_OF_LIST = ['lists', 'list_columns', 'edited_customers'] as const

/** Deletes what is kept of the list of the organization, and the windows of an interrupted run: its next run reads every record anew. */
export async function forgetReading(session: Session, organization: string) {
  await deleteRows(session, MEMORY_OF_LIST, organization)
  await forgetWindows(session, organization)
}

export async function deleteRows(session: Session, tables: readonly string[], organization: string) {
  for (const table of tables) await session.run(sql`DELETE FROM ${text(table)} WHERE organization = ${organization}`)
}

/** A window as it is to be stored; the row numbers as hexadecimal text. */
export function windowColumns(window: AnsweredWindow, rowIds: ArrayLike<number>, rejected: readonly (string | null)[]) {
  return {
    start: window.size * (window.page - 1),
    size: window.size,
    per_page: window.perPage,
    total: window.total ?? null,
    beyond_end: window.beyondEnd,
    row_ids: rowIdsFrom(rowIds).toString('hex'),
    rejected: JSON.stringify(rejected),
  }
}

/** A window with the row number of each record: 0 for a reject, below 0 for a forgotten customer; and the ids of its rejects. */
type StoredWindow = AnsweredWindow & { rowIds: readonly number[]; rejected: readonly (string | null)[] }

/** What a run that continues these windows has received when it begins: their rows, ids and forgotten customers. */
export function seenIn(windows: Iterable<StoredWindow>) {
  const tally = emptyTally()
  const { seen, rejectedIds, suppressed } = tally
  for (const { rowIds, rejected } of windows) {
    for (const rowId of rowIds) {
      if (rowId > 0) seen.add(rowId)
      else if (rowId < 0) suppressed.add(-rowId)
    }
    for (const id of rejected) if (id !== null) rejectedIds.add(id)
  }
  return tally
}

function recordedRows(rowIds: readonly number[], rejectedIds: (string | null)[], customers: readonly Row[]): Row[] {
  return rowIds.map((rowId) => {
    if (rowId < 0) return { id: undefined, createdAt: undefined, rowId }
    return customers[rowId] ?? { id: rejectedIds.shift() ?? undefined, createdAt: undefined, rowId: undefined }
  })
}

/** Row numbers as stored in one column: little-endian int32, as on all supported machines. */
export function rowIdsFrom(rowIds: ArrayLike<number>): Buffer {
  // A copy of a typed array takes a tenth of the time of one of a list.
  const numbers = rowIds instanceof Uint32Array ? new Int32Array(rowIds) : Int32Array.from(rowIds)
  return Buffer.from(numbers.buffer)
}

export function rowIdsIn(blob: Buffer): number[] {
  // A loop: spreading a typed array takes six times as long.
  const rowIds: number[] = []
  for (let at = 0; at < blob.length; at += 4) rowIds.push(blob.readInt32LE(at))
  return rowIds
}
