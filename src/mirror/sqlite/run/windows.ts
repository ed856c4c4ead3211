import type { RecordedWindow, Run } from '../../../run.ts'
import type { AnsweredWindow } from '../../../sorted-page.ts'
import type { Connection } from '../opening/database.ts'
import type { WindowRows } from '../../pages/saved-page.ts'
import {
  readableWindows,
  recordedWindow,
  seenIn,
  windowColumns,
  type StoredWindow,
  type WindowColumns,
} from '../../sql/stored-windows.ts'
import { statement } from '../statement.ts'

/** Records a window, so that a later run can continue. A window that is read again replaces the one before. */
export function recordWindow(db: Connection, run: Pick<Run, 'id'>, window: AnsweredWindow, rows: WindowRows): void {
  const columns = windowColumns(window, rows)
  statement<[Record<string, unknown>], never>(
    db,
    `REPLACE INTO windows (run_id, start, size, per_page, total, last_page, beyond_end, row_ids, rejected, place, count)
     VALUES (@run_id, @start, @size, @per_page, @total, @last_page, @beyond_end, @row_ids, @rejected, @place, @count)`,
  ).run({ ...columns, run_id: run.id, beyond_end: Number(columns.beyond_end) })
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
  return seenIn(readWindows(db, run))
}

/** The recorded windows of a run, in the order of their positions. Each is built when it is needed. */
export function* recallWindows(db: Connection, run: RunWithList): Generator<RecordedWindow> {
  const find = statement<[number], { id: string; created_at: string | null }>(
    db,
    'SELECT id, created_at FROM customers WHERE row_id = ?',
  )
  for (const window of readWindows(db, run)) yield recordedWindow(window, (rowId) => find.get(rowId))
}

/** A run and the list its windows refer to. */
type RunWithList = Pick<Run, 'id' | 'list'>

function readWindows(db: Connection, run: RunWithList): Generator<StoredWindow> {
  const windows = statement<[number], WindowColumns>(db, 'SELECT * FROM windows WHERE run_id = ? ORDER BY start, size')
  return readableWindows(windows.all(run.id), run)
}
