import type { Row } from '../customer.ts'
import type { Connection } from './database.ts'
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
export type RecordedRow = Row & { rowId: number | undefined }

/** Records a window, so that a later run can go on from it. One that was read again replaces what was read before. */
export function recordWindow(db: Connection, run: Pick<Run, 'id'>, window: RecordedWindow): void {
  const rowIds = new Int32Array(window.rows.map(({ rowId }) => rowId ?? 0))
  const rejected = window.rows.filter(({ rowId }) => rowId === undefined).map(({ id }) => id ?? null)
  statement(
    db,
    `REPLACE INTO windows (run_id, page, size, per_page, total, last_page, beyond_end, row_ids, rejected)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    run.id,
    window.page,
    window.size,
    window.perPage,
    window.total ?? null,
    window.lastPage ?? null,
    window.beyondEnd ? 1 : 0,
    Buffer.from(rowIds.buffer),
    JSON.stringify(rejected),
  )
}

/** Gives the windows of an interrupted run to the one that goes on from it. */
export function inheritWindows(db: Connection, from: number, to: number): void {
  statement(db, 'UPDATE windows SET run_id = ? WHERE run_id = ?').run(to, from)
}

/** Forgets the windows of every run of an organization: one ended well, or began anew. */
export function forgetWindows(db: Connection, organization: string): void {
  statement(db, 'DELETE FROM windows WHERE run_id IN (SELECT id FROM runs WHERE organization = ?)').run(organization)
}

/** Marks as seen whatever the recorded windows of a run hold. */
export function recallSeen(db: Connection, run: Pick<Run, 'id' | 'seen' | 'rejectedIds'>): void {
  for (const { row_ids, rejected } of readColumns(db, run.id)) {
    for (const rowId of rowIdsIn(row_ids)) if (rowId !== 0) run.seen.add(rowId)
    for (const id of rejectedIn(rejected)) if (id !== null) run.rejectedIds.add(id)
  }
}

/** The recorded windows of a run, in the order of their positions. Each is put together when its turn comes. */
export function* recallWindows(db: Connection, runId: number): Generator<RecordedWindow> {
  for (const columns of readColumns(db, runId)) {
    yield {
      page: columns.page,
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
  const rejectedIds = rejectedIn(rejected)
  return rowIdsIn(row_ids).map((rowId) => {
    const found = rowId === 0 ? undefined : find.get(rowId)
    if (found !== undefined) return { id: found.id, createdAt: found.created_at ?? undefined, rowId }
    return { id: rejectedIds.shift() ?? undefined, createdAt: undefined, rowId: undefined }
  })
}

function readColumns(db: Connection, runId: number): WindowColumns[] {
  return statement<[number], WindowColumns>(
    db,
    'SELECT * FROM windows WHERE run_id = ? ORDER BY size * (page - 1), size',
  ).all(runId)
}

function rowIdsIn(blob: Buffer): number[] {
  return [...new Int32Array(new Uint8Array(blob).buffer)]
}

function rejectedIn(json: string): (string | null)[] {
  const ids: (string | null)[] = JSON.parse(json)
  return ids
}

type WindowColumns = {
  page: number
  size: number
  per_page: number
  total: number | null
  last_page: number | null
  beyond_end: number
  row_ids: Buffer
  rejected: string
}
