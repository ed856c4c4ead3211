import type { Run } from '../../run.ts'
import { isIn, rowsOf } from '../port/fragments.ts'
import { sql, text } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { updateStamp } from '../runs/update-stamp.ts'
import { IS_QUICK } from '../schema/run-conditions.ts'

type Continuing = Pick<Run, 'organization' | 'resumedFrom'>

/**
 * The customers that quick runs wrote, or received in a reject, while the scan of this run was interrupted. They are listed, and may stand in a
 * part that was read before, where the scan does not look again: not to have read them is no absence.
 */
export async function listedMeanwhile(
  session: Session,
  { organization, resumedFrom }: Continuing,
): Promise<Set<number>> {
  if (resumedFrom === undefined) return new Set()
  const runs = await session.numbers(sql`
    WITH RECURSIVE scan (id, resumed_from) AS (
      SELECT id, resumed_from FROM runs WHERE id = ${resumedFrom}
      UNION ALL SELECT runs.id, runs.resumed_from FROM runs JOIN scan ON runs.id = scan.resumed_from
    )
    SELECT id FROM runs WHERE organization = ${organization} AND ${text(IS_QUICK)} AND inserted + updated + rejected > 0
      AND id > (SELECT min(id) FROM scan)`)
  // Without one, no customer is read.
  if (runs.length === 0) return new Set()
  const listed = await session.numbers(sql`
    SELECT row_id FROM customers WHERE organization = ${organization} AND (${isIn('last_run_id', runs)}
      OR id IN (SELECT record_id FROM rejects WHERE organization = ${organization} AND ${isIn('run_id', runs)}))`)
  return new Set(listed)
}

/**
 * Marks customers as listed that this scan read before it was interrupted, and that a quick run found absent after that: the scan shows
 * them as it read them, as if there had been no quick run.
 */
export async function markListed(session: Session, run: Continuing & Pick<Run, 'seen'>, nowMs: number): Promise<void> {
  if (run.resumedFrom === undefined) return
  const missing = await session.numbers(sql`
    SELECT row_id FROM customers WHERE organization = ${run.organization} AND missing_since IS NOT NULL AND removed_at IS NULL`)
  await markRowsListed(
    session,
    run,
    missing.filter((rowId) => run.seen.has(rowId)),
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
  await session.run(sql`
    UPDATE customers SET missing_since = NULL, updated_at = ${await updateStamp(session, nowMs)}
    WHERE ${rowsOf(organization, rowIds)} AND missing_since IS NOT NULL`)
  await session.run(sql`DELETE FROM absences WHERE ${rowsOf(organization, rowIds)}`)
}
