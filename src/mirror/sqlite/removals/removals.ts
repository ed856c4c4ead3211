import type { Absent, Run } from '../../../run.ts'
import type { HeldRemovals } from '../../../store.ts'
import { forgetAbsences } from './absences.ts'
import type { Connection } from '../opening/database.ts'
import { heldRemovalsOf, type HeldColumns } from '../../rows/held-removals.ts'
import { requireTaken } from '../../pages/rows-taken.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { holdsNothing } from '../../mirror-errors.ts'

/** The rows of an organization whose removal is held back. */
export function findHeldRows(db: Connection, organization: string): Set<number> {
  const held = statement<[string], number>(db, 'SELECT row_id FROM held_removals WHERE organization = ?').pluck()
  return new Set(held.all(organization))
}

export function release(db: Connection, rowId: number): void {
  statement(db, 'DELETE FROM held_removals WHERE row_id = ?').run(rowId)
}

/** Removals that were held back and not yet decided, newest first. */
export function listHeldRemovals(db: Connection): HeldRemovals[] {
  return statement<[], HeldColumns>(
    db,
    `SELECT run_id, held_removals.organization, COUNT(*) AS held, started_at
     FROM held_removals JOIN runs ON runs.id = run_id GROUP BY run_id ORDER BY run_id DESC`,
  )
    .all()
    .map(heldRemovalsOf)
}

/** Removes the customers whose removal that run held back. Returns their number. Throws UsageError if there are none. */
export function approveRemovals(db: Connection, runId: number, nowMs: number): number {
  const held = statement<[number], { organization: string; row_id: number; id: string }>(
    db,
    `SELECT held_removals.organization, row_id, id FROM held_removals JOIN customers USING (row_id)
     WHERE run_id = ? AND removed_at IS NULL`,
  ).all(runId)
  for (const { organization, row_id, id } of held) remove(db, { id: runId, organization }, { rowId: row_id, id }, nowMs)
  if (held.length === 0) discardRemovals(db, runId)
  return held.length
}

/** Discards the removals that run held back; the next scan may hold them back again. Returns their number. */
export function discardRemovals(db: Connection, runId: number): number {
  const { changes } = statement(db, 'DELETE FROM held_removals WHERE run_id = ?').run(runId)
  if (changes > 0) return changes
  throw holdsNothing(runId)
}

/** Holds removals of the latest run only: an earlier run's customers are absent again, or have been received since. */
export function holdBack(db: Connection, run: Run, absent: readonly Absent[]): void {
  statement(db, 'DELETE FROM held_removals WHERE organization = ?').run(run.organization)
  const hold = statement(db, 'INSERT INTO held_removals (organization, row_id, run_id) VALUES (?, ?, ?)')
  for (const { rowId } of absent) hold.run(run.organization, rowId, run.id)
}

/** Removes a customer. One that is not missing yet is from now on. */
export function remove(
  db: Connection,
  run: Pick<Run, 'id' | 'organization'>,
  { rowId, id }: Pick<Absent, 'rowId' | 'id'>,
  nowMs: number,
): void {
  const now = sqlTime(nowMs)
  const removed = statement(
    db,
    `UPDATE customers SET missing_since = coalesce(missing_since, ?), removed_at = ?, is_active = 0, last_run_id = ?,
       updated_at = ? WHERE row_id = ?`,
  ).run(now, now, run.id, updateStamp(db, nowMs), rowId)
  requireTaken(run, 'customers', { given: 1, taken: removed.changes })
  forgetAbsences(db, rowId)
  release(db, rowId)
  const fed = statement(
    db,
    `INSERT INTO changes (run_id, organization, id, change, at, missing_since)
     SELECT ?, ?, ?, 'removed', ?, missing_since FROM customers WHERE row_id = ?`,
  ).run(run.id, run.organization, id, now, rowId)
  requireTaken(run, 'changes', { given: 1, taken: fed.changes })
}
