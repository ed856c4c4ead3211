import type { Absent, Run } from '../../../run.ts'
import type { HeldRemovals } from '../../../store.ts'
import type { Missing } from '../../rules/removal-rule.ts'
import { heldRemovalsOf, type HeldColumns } from '../../rows/held-removals.ts'
import { requireTaken } from '../../pages/rows-taken.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { GIVEN_ROWS } from '../given-rows.ts'
import type { Session } from '../session.ts'
import { updateStamp } from '../update-stamp.ts'
import { FORGET_ABSENCES, RELEASE } from './forget-absences.ts'
import { holdsNothing } from '../../mirror-errors.ts'

/** Removals that were held back and not yet decided, newest first. */
export async function listHeldRemovals(session: Session): Promise<HeldRemovals[]> {
  const held = await session.all<HeldColumns>(
    `SELECT run_id, held_removals.organization, count(*) AS held, started_at
     FROM held_removals JOIN runs ON runs.id = run_id
     GROUP BY run_id, held_removals.organization, started_at ORDER BY run_id DESC`,
  )
  return held.map(heldRemovalsOf)
}

/** Removes the customers whose removal that run held back. Returns their number. Throws UsageError if there are none. */
export async function approveRemovals(session: Session, runId: number, nowMs: number): Promise<number> {
  // A run of the organization that saves pages at this moment waits, or is waited for.
  await session.all(
    `SELECT 1 FROM leases WHERE organization IN (SELECT organization FROM held_removals WHERE run_id = $1) FOR UPDATE`,
    runId,
  )
  const held = await session.all<{ organization: string; row_id: number }>(
    `SELECT held_removals.organization, row_id FROM held_removals JOIN customers USING (organization, row_id)
     WHERE run_id = $1 AND removed_at IS NULL ORDER BY organization, row_id`,
    runId,
  )
  if (held.length === 0) await discardRemovals(session, runId)
  for (const organization of new Set(held.map((row) => row.organization))) {
    const rowIds = held.flatMap((row) => (row.organization === organization ? [row.row_id] : []))
    await removeRows(session, { id: runId, organization }, rowIds, nowMs)
  }
  return held.length
}

/** Discards the removals that run held back; the next scan may hold them back again. Returns their number. */
export async function discardRemovals(session: Session, runId: number): Promise<number> {
  const discarded = await session.run('DELETE FROM held_removals WHERE run_id = $1', runId)
  if (discarded > 0) return discarded
  throw holdsNothing(runId)
}

/** Holds removals of the latest run only: an earlier run's customers are absent again, or have been received since. */
export async function holdBack(session: Session, run: Run, absent: readonly Absent[]): Promise<void> {
  const rowIds = absent.map(({ rowId }) => rowId)
  await session.run(
    'DELETE FROM held_removals WHERE organization = $1 AND row_id NOT IN (SELECT unnest($2::bigint[]))',
    run.organization,
    rowIds,
  )
  const taken = await session.run(
    `INSERT INTO held_removals (organization, row_id, run_id) SELECT $1, unnest($2::bigint[]), $3::bigint
     ON CONFLICT (organization, row_id) DO UPDATE SET run_id = excluded.run_id`,
    run.organization,
    rowIds,
    run.id,
  )
  requireTaken(run, 'held_removals', { given: absent.length, taken })
}

/** The removals of these rows are no longer held back. */
export async function release(
  session: Session,
  { organization }: Pick<Run, 'organization'>,
  rowIds: readonly number[],
): Promise<void> {
  if (rowIds.length > 0) await session.run(RELEASE, organization, rowIds)
}

/** A customer to be marked missing. `isCounted`: the absence counts towards a removal. */
type Marked = { row: Pick<Absent, 'rowId' | 'missingProven' | 'missingScans'> } & Pick<Missing, 'isCounted'>

/** Marks customers as missing, and counts their absences, as `isProven` ones or others. */
export async function markMissing(
  session: Session,
  run: Pick<Run, 'organization'>,
  missing: readonly Marked[],
  { isProven, nowMs }: { isProven: boolean; nowMs: number },
): Promise<void> {
  if (missing.length === 0) return
  const counted = (isCounted: boolean) => (isCounted ? 1 : 0)
  const found = await session.first<{ unmarked: number; marked: number; counted: number }>(
    `WITH unmarked AS (
       SELECT row_id FROM customers WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS} AND missing_since IS NULL
     ), marked AS (
       UPDATE customers SET missing_since = $5::timestamptz, updated_at = $6::timestamptz
       WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS} AND missing_since IS NULL RETURNING 1
     ), counted AS (
       INSERT INTO absences (organization, row_id, proven, scans)
       SELECT $1, row_id, proven, scans FROM unnest($2::bigint[], $3::integer[], $4::integer[]) AS counted (row_id, proven, scans)
       ON CONFLICT (organization, row_id) DO UPDATE SET proven = excluded.proven, scans = excluded.scans RETURNING 1
     )
     SELECT (SELECT count(*) FROM unmarked) AS unmarked, (SELECT count(*) FROM marked) AS marked,
       (SELECT count(*) FROM counted) AS counted`,
    run.organization,
    missing.map(({ row }) => row.rowId),
    // What was counted before: nothing, at the first absence since the customer was listed.
    missing.map(({ row, isCounted }) => row.missingProven + counted(isCounted && isProven)),
    missing.map(({ row, isCounted }) => row.missingScans + counted(isCounted)),
    sqlTime(nowMs),
    await updateStamp(session, nowMs),
  )
  requireTaken(run, 'customers', { given: found?.unmarked ?? missing.length, taken: found?.marked ?? 0 })
  requireTaken(run, 'absences', { given: missing.length, taken: found?.counted ?? 0 })
}

/** Removes customers, in this order in the feed. One that is not missing yet is from now on. */
export async function removeRows(
  session: Session,
  run: Pick<Run, 'id' | 'organization'>,
  rowIds: readonly number[],
  nowMs: number,
): Promise<void> {
  if (rowIds.length === 0) return
  const found = await session.first<{ gone: number; fed: number }>(
    `WITH gone AS (
       UPDATE customers SET missing_since = coalesce(missing_since, $4::timestamptz), removed_at = $4::timestamptz,
         last_run_id = $3::bigint, updated_at = $5::timestamptz
       WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS}
       RETURNING row_id, id, missing_since
     ), forgotten AS (${FORGET_ABSENCES}), released AS (${RELEASE}), fed AS (
       INSERT INTO changes (run_id, organization, id, change, at, missing_since)
       SELECT $3::bigint, $1, gone.id, 'removed', $4::timestamptz, gone.missing_since
       FROM gone JOIN unnest($2::bigint[]) WITH ORDINALITY AS given (row_id, number) ON given.row_id = gone.row_id
       ORDER BY number RETURNING 1
     )
     SELECT (SELECT count(*) FROM gone) AS gone, (SELECT count(*) FROM fed) AS fed`,
    run.organization,
    rowIds,
    run.id,
    sqlTime(nowMs),
    await updateStamp(session, nowMs),
  )
  requireTaken(run, 'customers', { given: rowIds.length, taken: found?.gone ?? 0 })
  requireTaken(run, 'changes', { given: rowIds.length, taken: found?.fed ?? 0 })
}
