import type { RecordedRow, RecordedWindow, Run } from '../../model/run.ts'
import { rowsOf } from '../port/fragments.ts'
import { sql, text } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { RowSet } from '../../model/row-set.ts'
import type { AnsweredWindow } from '../../model/page.ts'
import type { WindowRows } from '../pages/decide-pages.ts'

/** The recorded windows of a run, in the order of their positions. */
export async function readWindows(session: Session, run: Pick<Run, 'id'>): Promise<StoredWindow[]> {
  const windows = await session.all<WindowColumns>(sql`
    SELECT start, size, per_page, total, last_page, beyond_end, row_ids, rejected FROM windows
    WHERE run_id = ${run.id} ORDER BY start, size`)
  return windows.map((columns) => ({
    columns,
    rowIds: rowIdsIn(columns.row_ids),
    rejected: JSON.parse(columns.rejected),
  }))
}

/** The same with the customers in them. Each is built when it is needed. */
export async function recallWindows(session: Session, run: Run): Promise<Iterable<RecordedWindow>> {
  if (run.resumedFrom === undefined) return []
  const windows = await readWindows(session, run)
  return recorded(windows, await findCustomers(session, run))
}

function* recorded(windows: readonly StoredWindow[], find: FindCustomer): Generator<RecordedWindow> {
  for (const window of windows) yield recordedWindow(window, find)
}

const AT_ONCE = 20_000

async function findCustomers(session: Session, { organization, seen }: Run): Promise<FindCustomer> {
  const found: ReturnType<FindCustomer>[] = []
  const rowIds = [...seen]
  for (let from = 0; from < rowIds.length; from += AT_ONCE) {
    const rows = await session.all<{ row_id: number; id: string; created_at: string | null }>(sql`
      SELECT row_id, id, created_at FROM customers
      WHERE ${rowsOf(organization, rowIds.slice(from, from + AT_ONCE))}`)
    for (const { row_id, id, created_at } of rows) found[row_id] = { id, created_at }
  }
  return (rowId) => found[rowId]
}

/** Deletes the windows of every run of an organization. */
export async function forgetWindows(session: Session, organization: string) {
  await session.run(sql`DELETE FROM windows WHERE run_id IN (SELECT id FROM runs WHERE organization = ${organization})`)
}

/** What is kept from run to run to recognize a list. Without it, the next run reads every record. */
export const MEMORY_OF_LIST = ['lists', 'edited_customers'] as const

/** Deletes what is kept of the list of the organization, and the windows of an interrupted run: its next run reads every record anew. */
export async function forgetReading(session: Session, organization: string) {
  for (const table of MEMORY_OF_LIST)
    await session.run(sql`DELETE FROM ${text(table)} WHERE organization = ${organization}`)
  await forgetWindows(session, organization)
}

/** A recorded window as it is stored. */
export type WindowColumns = {
  start: number
  size: number
  per_page: number
  total: number | null
  last_page: number | null
  beyond_end: number | boolean
  row_ids: Buffer
  rejected: string
}

/** A window as it is to be stored. */
export function windowColumns(window: AnsweredWindow, { rowIds, rejected }: WindowRows): WindowColumns {
  return {
    start: window.size * (window.page - 1),
    size: window.size,
    per_page: window.perPage,
    total: window.total ?? null,
    last_page: window.lastPage ?? null,
    beyond_end: window.beyondEnd,
    row_ids: rowIdsFrom(rowIds),
    rejected: JSON.stringify(rejected),
  }
}

/** A window with the row number of each record: 0 for a reject, below 0 for a forgotten customer; and the ids of its rejects. */
export type StoredWindow = { columns: WindowColumns; rowIds: readonly number[]; rejected: readonly (string | null)[] }

/** The rows, ids and forgotten customers in windows. */
export function seenIn(windows: Iterable<StoredWindow>): Pick<Run, 'seen' | 'rejectedIds' | 'suppressed'> {
  const seen = new RowSet()
  const rejectedIds = new Set<string>()
  const suppressed = new Set<number>()
  for (const { rowIds, rejected } of windows) {
    for (const rowId of rowIds) {
      if (rowId > 0) seen.add(rowId)
      else if (rowId < 0) suppressed.add(-rowId)
    }
    for (const id of rejected) if (id !== null) rejectedIds.add(id)
  }
  return { seen, rejectedIds, suppressed }
}

type FindCustomer = (rowId: number) => { id: string; created_at: string | null } | undefined

function recordedWindow({ columns, rowIds, rejected }: StoredWindow, find: FindCustomer): RecordedWindow {
  return {
    page: columns.start / columns.size + 1,
    size: columns.size,
    perPage: columns.per_page,
    total: columns.total ?? undefined,
    lastPage: columns.last_page ?? undefined,
    beyondEnd: Boolean(columns.beyond_end),
    rows: recordedRows(rowIds, [...rejected], find),
  }
}

function recordedRows(rowIds: readonly number[], rejectedIds: (string | null)[], find: FindCustomer): RecordedRow[] {
  return rowIds.map((rowId) => {
    if (rowId < 0) return { id: undefined, createdAt: undefined, rowId }
    const found = rowId === 0 ? undefined : find(rowId)
    if (found !== undefined) return { id: found.id, createdAt: found.created_at ?? undefined, rowId }
    return { id: rejectedIds.shift() ?? undefined, createdAt: undefined, rowId: undefined }
  })
}

/** Row numbers as stored in one column: little-endian int32, as on all supported machines. */
export function rowIdsFrom(rowIds: ArrayLike<number>): Buffer {
  // A copy of a typed array takes a tenth of the time of one of a list.
  const numbers = rowIds instanceof Uint32Array ? new Int32Array(rowIds) : Int32Array.from(rowIds)
  return Buffer.from(numbers.buffer)
}

/** The row numbers in such a column. */
export function rowIdsIn(blob: Buffer): number[] {
  // A loop: spreading a typed array takes six times as long.
  const rowIds: number[] = []
  for (let at = 0; at < blob.length; at += 4) rowIds.push(blob.readInt32LE(at))
  return rowIds
}
