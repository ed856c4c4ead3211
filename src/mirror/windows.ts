import type { Row } from '../customer.ts'
import { RowSet } from '../row-set.ts'
import type { Connection } from './database.ts'
import { rowIdsFrom, rowIdsIn } from './row-ids.ts'
import type { Run } from './runs.ts'
import { statement } from './statement.ts'

/** A window as it was read: which page was asked for, what the service said of it, and who stood in it. */
export type RecordedWindow = {
  page: number
  size: number
  perPage: number
  total: number | undefined
  lastPage: number | undefined
  beyondEnd: boolean
  rows: RecordedRow[]
}

/** A record's place in a window, with its row of `customers`; a reject has none. */
export type RecordedRow = Row & { rowId?: number | undefined }

/**
 * Records a window, so that a later run can go on from it. One that was read again replaces what was read before. Of a page
 * that is remembered the rows are not written twice.
 */
export function recordWindow(
  db: Connection,
  run: Pick<Run, 'id'>,
  window: Omit<RecordedWindow, 'rows'> & { rows: readonly (RecordedRow | number)[] },
  { isRemembered }: { isRemembered: boolean },
): void {
  statement(
    db,
    `REPLACE INTO windows (run_id, start, size, per_page, total, last_page, beyond_end, row_ids, rejected)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    run.id,
    window.size * (window.page - 1),
    window.size,
    window.perPage,
    window.total ?? null,
    window.lastPage ?? null,
    window.beyondEnd ? 1 : 0,
    isRemembered ? null : rowIdsFrom(window.rows.map(numberOf)),
    isRemembered ? null : JSON.stringify(rejectedIn(window.rows)),
  )
}

function numberOf(row: RecordedRow | number): number {
  return typeof row === 'object' ? (row.rowId ?? 0) : row
}

/** The ids of a window's rejects in order, null where unreadable. */
function rejectedIn(rows: readonly (RecordedRow | number)[]): (string | null)[] {
  return rows.flatMap((row) => (typeof row === 'object' && row.rowId === undefined ? [row.id ?? null] : []))
}

/** Gives the windows of an interrupted run to the one that goes on from it. */
export function inheritWindows(db: Connection, from: number, to: number): void {
  statement(db, 'UPDATE windows SET run_id = ? WHERE run_id = ?').run(to, from)
}

/** Forgets the windows of every run of an organization: one ended well, or began anew. */
export function forgetWindows(db: Connection, organization: string): void {
  statement(db, 'DELETE FROM windows WHERE run_id IN (SELECT id FROM runs WHERE organization = ?)').run(organization)
}

/** Whatever the recorded windows of a run hold; nothing, where it began anew. */
export function recallSeen(db: Connection, runId: number): Pick<Run, 'seen' | 'rejectedIds'> {
  const seen = new RowSet()
  const rejectedIds = new Set<string>()
  for (const { row_ids, rejected } of readColumns(db, runId)) {
    for (const rowId of rowIdsIn(row_ids)) if (rowId !== 0) seen.add(rowId)
    for (const id of rejectedFrom(rejected)) if (id !== null) rejectedIds.add(id)
  }
  return { seen, rejectedIds }
}

/** The recorded windows of a run, in the order of their positions. Each is put together when its turn comes. */
export function* recallWindows(db: Connection, runId: number): Generator<RecordedWindow> {
  for (const columns of readColumns(db, runId)) {
    yield {
      page: columns.start / columns.size + 1,
      size: columns.size,
      perPage: columns.per_page,
      total: columns.total ?? undefined,
      lastPage: columns.last_page ?? undefined,
      beyondEnd: columns.beyond_end === 1,
      rows: recallRows(db, columns),
    }
  }
}

function recallRows(db: Connection, { row_ids, rejected }: WindowColumns): RecordedRow[] {
  const find = statement<[number], { id: string; created_at: string | null }>(
    db,
    'SELECT id, created_at FROM customers WHERE row_id = ?',
  )
  const rejectedIds = rejectedFrom(rejected)
  return rowIdsIn(row_ids).map((rowId) => {
    const found = rowId === 0 ? undefined : find.get(rowId)
    if (found !== undefined) return { id: found.id, createdAt: found.created_at ?? undefined, rowId }
    return { id: rejectedIds.shift() ?? undefined, createdAt: undefined, rowId: undefined }
  })
}

/** A window whose page is remembered no more is left out: it is read again. */
function readColumns(db: Connection, runId: number): WindowColumns[] {
  return statement<[number], WindowColumns>(
    db,
    `SELECT windows.start, windows.size, per_page, total, last_page, beyond_end,
       coalesce(windows.row_ids, remembered_pages.row_ids) AS row_ids, windows.rejected
     FROM windows JOIN runs ON runs.id = run_id
       LEFT JOIN remembered_pages ON remembered_pages.organization = runs.organization
         AND remembered_pages.start = per_page * (windows.start / windows.size) AND remembered_pages.size = per_page
     WHERE run_id = ? AND coalesce(windows.row_ids, remembered_pages.row_ids) IS NOT NULL
     ORDER BY windows.start, windows.size`,
  ).all(runId)
}

function rejectedFrom(json: string | null): (string | null)[] {
  const ids: (string | null)[] = JSON.parse(json ?? '[]')
  return ids
}

type WindowColumns = {
  start: number
  size: number
  per_page: number
  total: number | null
  last_page: number | null
  beyond_end: number
  row_ids: Buffer
  rejected: string | null
}
