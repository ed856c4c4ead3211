import type { RecordedRow, RecordedWindow, Run } from '../../run.ts'
import { RowSet } from '../../row-set.ts'
import type { AnsweredWindow } from '../../sorted-page.ts'
import type { Connection } from './database.ts'
import { rowIdsFrom, rowIdsIn } from '../row-ids.ts'
import type { WindowRows } from '../saved-page.ts'
import { statement } from './statement.ts'

/** Records a window, so that a later run can continue. A window that is read again replaces the one before. */
export function recordWindow(db: Connection, run: Pick<Run, 'id'>, window: AnsweredWindow, rows: WindowRows): void {
  statement(
    db,
    `REPLACE INTO windows (run_id, start, size, per_page, total, last_page, beyond_end, row_ids, rejected, place, count)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    run.id,
    window.size * (window.page - 1),
    window.size,
    window.perPage,
    window.total ?? null,
    window.lastPage ?? null,
    window.beyondEnd ? 1 : 0,
    ...columnsOf(rows),
  )
}

function columnsOf(rows: WindowRows) {
  if ('place' in rows) return [null, null, rows.place, rows.count]
  return [rowIdsFrom(rows.rowIds), JSON.stringify(rows.rejected), null, null]
}

/** Gives the windows of an interrupted run to the run that continues it. */
export function inheritWindows(db: Connection, from: number, to: number): void {
  statement(db, 'UPDATE windows SET run_id = ? WHERE run_id = ?').run(to, from)
}

/** Deletes the windows of every run of an organization, after a complete run or a new start. */
export function forgetWindows(db: Connection, organization: string): void {
  statement(db, 'DELETE FROM windows WHERE run_id IN (SELECT id FROM runs WHERE organization = ?)').run(organization)
}

/** The rows, ids and forgotten customers in the recorded windows of a run; empty if the run started from the beginning. */
export function recallSeen(db: Connection, run: RunWithList): Pick<Run, 'seen' | 'rejectedIds' | 'suppressed'> {
  const seen = new RowSet()
  const rejectedIds = new Set<string>()
  const suppressed = new Set<number>()
  for (const { rowIds, rejected } of readWindows(db, run)) {
    for (const rowId of rowIds) {
      if (rowId > 0) seen.add(rowId)
      else if (rowId < 0) suppressed.add(-rowId)
    }
    for (const id of rejected) if (id !== null) rejectedIds.add(id)
  }
  return { seen, rejectedIds, suppressed }
}

/** The recorded windows of a run, in the order of their positions. Each is built when it is needed. */
export function* recallWindows(db: Connection, run: RunWithList): Generator<RecordedWindow> {
  for (const { columns, rowIds, rejected } of readWindows(db, run)) {
    yield {
      page: columns.start / columns.size + 1,
      size: columns.size,
      perPage: columns.per_page,
      total: columns.total ?? undefined,
      lastPage: columns.last_page ?? undefined,
      beyondEnd: columns.beyond_end === 1,
      rows: recallRows(db, rowIds, [...rejected]),
    }
  }
}

function recallRows(db: Connection, rowIds: readonly number[], rejectedIds: (string | null)[]): RecordedRow[] {
  const find = statement<[number], { id: string; created_at: string | null }>(
    db,
    'SELECT id, created_at FROM customers WHERE row_id = ?',
  )
  return rowIds.map((rowId) => {
    if (rowId < 0) return { id: undefined, createdAt: undefined, rowId }
    const found = rowId === 0 ? undefined : find.get(rowId)
    if (found !== undefined) return { id: found.id, createdAt: found.created_at ?? undefined, rowId }
    return { id: rejectedIds.shift() ?? undefined, createdAt: undefined, rowId: undefined }
  })
}

/** A run and the list its windows refer to. */
type RunWithList = Pick<Run, 'id' | 'list'>

type StoredWindow = { columns: WindowColumns; rowIds: readonly number[]; rejected: readonly (string | null)[] }

/** Skips windows that refer to a list which this program can no longer read: they are read again. */
function* readWindows(db: Connection, { id, list }: RunWithList): Generator<StoredWindow> {
  const windows = statement<[number], WindowColumns>(db, 'SELECT * FROM windows WHERE run_id = ? ORDER BY start, size')
  for (const columns of windows.all(id)) {
    const { row_ids, place, count } = columns
    const rejected: (string | null)[] = JSON.parse(columns.rejected ?? '[]')
    const listed = list.columns.rowIds.subarray(place ?? 0, (place ?? 0) + (count ?? 0))
    if (row_ids !== null) yield { columns, rowIds: rowIdsIn(row_ids), rejected }
    else if (listed.length === count) yield { columns, rowIds: Array.from(listed), rejected }
  }
}

type WindowColumns = {
  start: number
  size: number
  per_page: number
  total: number | null
  last_page: number | null
  beyond_end: number
  row_ids: Buffer | null
  rejected: string | null
  place: number | null
  count: number | null
}
