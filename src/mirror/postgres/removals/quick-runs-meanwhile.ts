import type { Run } from '../../../run.ts'
import { IS_QUICK } from '../../sql/run-conditions.ts'
import { GIVEN_ROWS } from '../given-rows.ts'
import type { Session } from '../session.ts'
import { updateStamp } from '../update-stamp.ts'
import { FORGET_ABSENCES } from './forget-absences.ts'

/**
 * The customers that quick runs wrote, or received in a reject, while the scan of this run was interrupted. They are listed, and may stand in a
 * part that was read before, where the scan does not look again: not to have read them is no absence.
 */
export async function listedMeanwhile(
  session: Session,
  { organization, resumedFrom }: Pick<Run, 'organization' | 'resumedFrom'>,
): Promise<Set<number>> {
  if (resumedFrom === undefined) return new Set()
  const listed = await session.all<{ row_id: number }>(LISTED, organization, resumedFrom)
  return new Set(listed.map(({ row_id }) => row_id))
}

/** Customers are looked at only where there was such a run; as an array, so that they are then read once, and not for each of those runs. */
const LISTED = `
  WITH RECURSIVE scan (id) AS (
    SELECT $2::bigint
    UNION ALL SELECT resumed_from FROM runs JOIN scan ON runs.id = scan.id WHERE resumed_from IS NOT NULL
  ), found AS (
    SELECT id FROM runs
    WHERE organization = $1 AND ${IS_QUICK} AND inserted + updated + rejected > 0 AND id > (SELECT min(id) FROM scan)
  )
  SELECT row_id FROM customers
  WHERE organization = $1 AND EXISTS (SELECT FROM found) AND (last_run_id = ANY (ARRAY(SELECT id FROM found))
    OR id IN (SELECT record_id FROM rejects WHERE organization = $1 AND run_id = ANY (ARRAY(SELECT id FROM found))))`

/**
 * Marks customers as listed that this scan read before it was interrupted, and that a quick run found absent after that: the scan shows
 * them as it read them, as if there had been no quick run.
 */
export async function markListed(
  session: Session,
  run: Pick<Run, 'organization' | 'resumedFrom' | 'seen'>,
  nowMs: number,
): Promise<void> {
  if (run.resumedFrom === undefined) return
  const missing = await session.all<{ row_id: number }>(
    'SELECT row_id FROM customers WHERE organization = $1 AND missing_since IS NOT NULL AND removed_at IS NULL',
    run.organization,
  )
  await markRowsListed(
    session,
    run,
    missing.map(({ row_id }) => row_id).filter((rowId) => run.seen.has(rowId)),
    nowMs,
  )
}

/** Marks rows as listed: their absences restart at 0. */
export async function markRowsListed(
  session: Session,
  { organization }: Pick<Run, 'organization'>,
  rowIds: readonly number[],
  nowMs: number,
): Promise<void> {
  if (rowIds.length === 0) return
  await session.run(
    `WITH present AS (${FORGET_ABSENCES})
     UPDATE customers SET missing_since = NULL, updated_at = $3::timestamptz
     WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS} AND missing_since IS NOT NULL`,
    organization,
    rowIds,
    await updateStamp(session, nowMs),
  )
}
