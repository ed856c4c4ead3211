import type { RecordedWindow, Run } from '../../../run.ts'
import {
  readableWindows,
  recordedWindow,
  type FindCustomer,
  type StoredWindow,
  type WindowColumns,
} from '../../sql/stored-windows.ts'
import { GIVEN_ROWS } from '../given-rows.ts'
import type { Session } from '../session.ts'

/** The recorded windows of a run, in the order of their positions. */
export async function readWindows(session: Session, run: Pick<Run, 'id' | 'list'>): Promise<StoredWindow[]> {
  const windows = await session.all<WindowColumns>(
    `SELECT start, size, per_page, total, last_page, beyond_end, row_ids, rejected, place, count FROM windows
     WHERE run_id = $1 ORDER BY start, size`,
    run.id,
  )
  return [...readableWindows(windows, run)]
}

/** The same with the customers in them. Each is built when it is needed. */
export async function recallWindows(session: Session, run: Run): Promise<Iterable<RecordedWindow>> {
  if (run.resumedFrom === undefined) return []
  const windows = await readWindows(session, run)
  const find = await findCustomers(session, run)
  return recordedWindows(windows, find)
}

function* recordedWindows(windows: readonly StoredWindow[], find: FindCustomer): Generator<RecordedWindow> {
  for (const window of windows) yield recordedWindow(window, find)
}

/** The customers that the run has received, read at once. */
async function findCustomers(session: Session, { organization, seen }: Run): Promise<FindCustomer> {
  const found: ReturnType<FindCustomer>[] = []
  for (const rowIds of parts([...seen], CUSTOMERS_AT_ONCE)) {
    const rows = await session.all<{ row_id: number; id: string; created_at: string | null }>(
      `SELECT row_id, id, created_at FROM customers
       WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS}`,
      organization,
      rowIds,
    )
    for (const { row_id, id, created_at } of rows) found[row_id] = { id, created_at }
  }
  return (rowId) => found[rowId]
}

const CUSTOMERS_AT_ONCE = 20_000

function* parts<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}

/** Deletes the windows of every run of an organization. */
export async function forgetWindows(session: Session, organization: string): Promise<void> {
  await session.run(FORGET_WINDOWS, organization)
}

/** $1 is the organization. */
export const FORGET_WINDOWS = 'DELETE FROM windows WHERE run_id IN (SELECT id FROM runs WHERE organization = $1)'
