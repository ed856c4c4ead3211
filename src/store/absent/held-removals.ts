import type { Absent, Run } from '../../model/run.ts'
import type { HeldCustomer, HeldRemovals } from '../../model/mirror.ts'
import { holdsNothing } from '../refusals.ts'
import { requireTaken } from '../pages/page-accounting.ts'
import { APART, given, moment, rowsOf } from '../port/fragments.ts'
import { fromSqlTime, sql, sqlTime } from '../port/sql.ts'
import { records, type Session } from '../port/store.ts'
import { lockLeasesOf, updateStamp } from '../runs/lease.ts'

/** Removals that were held back and not yet decided, newest first. */
export function listHeldRemovals(session: Session): Promise<HeldRemovals[]> {
  return records(
    session,
    sql`
    SELECT run_id, held_rows.organization, count(*) AS held, started_at FROM held_rows JOIN runs ON runs.id = run_id
    WHERE discarded = 0 GROUP BY run_id, held_rows.organization, started_at ORDER BY run_id DESC`,
  )
}

/** The customers whose removal that run holds back, by name. */
export async function listHeldCustomers(session: Session, runId: number): Promise<HeldCustomer[]> {
  const held = await session.all<Omit<HeldCustomer, 'absentSinceMs'> & { since: string }>(sql`
    SELECT id, name, username, email, absent_since AS since FROM held_removals WHERE run_id = ${runId} ORDER BY name, id`)
  return held.map(({ since, ...customer }) => ({ ...customer, absentSinceMs: fromSqlTime(since) }))
}

/** Removes the customers whose removal that run held back. Returns their number. Throws UsageError if there are none. */
export async function approveRemovals(session: Session, runId: number, nowMs: number): Promise<number> {
  await lockLeasesOf(session, runId)
  const held = await session.all<{ organization: string; row_id: number }>(sql`
    SELECT held_rows.organization, held_rows.row_id FROM held_rows
    JOIN customers ON customers.row_id = held_rows.row_id AND customers.organization = held_rows.organization
    WHERE run_id = ${runId} AND discarded = 0 AND removed_at IS NULL ORDER BY held_rows.organization, held_rows.row_id`)
  if (held.length === 0) await discardRemovals(session, runId)
  for (const organization of new Set(held.map((row) => row.organization))) {
    const rowIds = held.flatMap((row) => (row.organization === organization ? [row.row_id] : []))
    await removeRows(session, { id: runId, organization }, rowIds, nowMs)
  }
  return held.length
}

/** Discards the removals that run held back: they wait for no decision as long as the discard lasts. Returns their number. */
export async function discardRemovals(session: Session, runId: number): Promise<number> {
  const discarded = await session.run(sql`UPDATE held_rows SET discarded = 1 WHERE run_id = ${runId} AND discarded = 0`)
  if (discarded > 0) return discarded
  throw holdsNothing(runId)
}

/** A discard ends when the absent customers are so many times those that it named. */
const MOST_GROWTH = 1.5

/** Whether a person has discarded these absences: none of the customers named then has been listed since, and their number has not grown by half. */
export async function areDiscarded(session: Session, run: Run, absent: readonly Absent[]): Promise<boolean> {
  const left = await session.first<{ named: number | null; waiting: number }>(sql`
    SELECT count(*) AS waiting, max(held) AS named FROM held_rows JOIN runs ON runs.id = run_id
    WHERE held_rows.organization = ${run.organization} AND discarded = 1`)
  const { named, waiting } = left ?? { named: null, waiting: 0 }
  return waiting > 0 && waiting === named && absent.length < MOST_GROWTH * waiting
}

/** Holds removals of the latest run only: an earlier run's customers are absent again, or have been received since. */
export async function holdBack(session: Session, run: Run, absent: readonly Absent[]) {
  await session.run(sql`DELETE FROM held_rows WHERE organization = ${run.organization}`)
  const rows = given(
    absent.map(({ rowId }) => ({ row_id: rowId })),
    { row_id: 'bigint' },
  )
  const taken = await session.run(sql`
    INSERT INTO held_rows (organization, row_id, run_id) SELECT ${run.organization}, row_id, ${run.id} FROM ${rows}`)
  requireTaken(run, 'held_rows', { given: absent.length, taken })
}

/** The removals of these rows are no longer held back. */
export async function release(
  session: Session,
  { organization }: Pick<Run, 'organization'>,
  rowIds: readonly number[],
) {
  if (rowIds.length > 0) await session.run(sql`DELETE FROM held_rows WHERE ${rowsOf(organization, rowIds)}`)
}

/** Removes customers, in this order in the feed. One that is not missing yet is from now on. */
export async function removeRows(
  session: Session,
  run: Pick<Run, 'id' | 'organization'>,
  rowIds: readonly number[],
  nowMs: number,
) {
  if (rowIds.length === 0) return
  const { organization } = run
  const now = sqlTime(nowMs)
  const taken = await session.run(sql`
    UPDATE customers SET missing_since = coalesce(missing_since, ${moment(now)}), removed_at = ${now}, last_run_id = ${run.id},
      updated_at = ${await updateStamp(session, nowMs)} WHERE ${rowsOf(organization, rowIds)}`)
  requireTaken(run, 'customers', { given: rowIds.length, taken })
  await session.run(sql`DELETE FROM absences WHERE ${rowsOf(organization, rowIds)}`)
  await release(session, run, rowIds)
  const rows = given(
    rowIds.map((row_id, number) => ({ row_id, number })),
    { row_id: 'bigint', number: 'bigint' },
  )
  const fed = await session.run(sql`
    INSERT INTO changes (run_id, organization, id, change, changed_at, missing_since)
    SELECT ${run.id}, ${organization}, id, 'removed', ${moment(now)}, missing_since
    FROM ${rows} JOIN (SELECT row_id AS gone, id, missing_since FROM customers WHERE ${rowsOf(organization, rowIds)} ${APART}) AS removed
      ON removed.gone = given.row_id ORDER BY number`)
  requireTaken(run, 'changes', { given: rowIds.length, taken: fed })
}
