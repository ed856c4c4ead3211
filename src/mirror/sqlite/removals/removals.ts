import type { Absent, RemovalRule, Run } from '../../../run.ts'
import type { HeldRemovals } from '../../../store.ts'
import { forgetAbsences } from './absences.ts'
import type { Connection } from '../database.ts'
import { writtenMeanwhile } from './quick-runs-meanwhile.ts'
import { areTooMany } from '../../removal-rule.ts'
import { absentOf, type AbsentColumns } from '../../rows/absent.ts'
import { IS_QUICK } from '../../run-conditions.ts'
import { heldRemovalsOf, type HeldColumns } from '../../rows/held-removals.ts'
import { requireTaken } from '../../rows-taken.ts'
import { sqlTime } from '../../sql-time.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { holdsNothing } from '../../refusals.ts'

/**
 * The customers of the run's organization that are not removed and that the run did not receive, not even in a reject. Undefined if
 * received customers are no longer in the mirror: rows with the same id replaced them, which no trigger reports.
 */
export function findAbsent(db: Connection, run: Run): Absent[] | undefined {
  if (isAllReceived(db, run)) return []
  const unseen = findUnseen(db, run)
  if (unseen === undefined) return undefined
  const find = statement<[number], AbsentColumns>(db, FIND_NOT_REMOVED)
  const absent = unseen.flatMap((rowId) => find.get(rowId) ?? []).map(absentOf)
  const written = absent.length === 0 ? new Set() : writtenMeanwhile(db, run)
  return absent.filter(({ id, rowId }) => !run.rejectedIds.has(id) && !written.has(rowId))
}

/** Whether the mirror still holds every customer that the run received. */
export function holdsReceived(db: Connection, run: Run): boolean {
  return isAllReceived(db, run) || findUnseen(db, run) !== undefined
}

/** The rows that the run did not receive; undefined if received ones are not there. */
function findUnseen(db: Connection, { organization, seen }: Run): number[] | undefined {
  const rows = statement<[string], number>(db, 'SELECT row_id FROM customers WHERE organization = ?').pluck()
  // All at once: one by one, each row costs three times as much.
  const stored = rows.all(organization)
  const unseen = stored.filter((rowId) => !seen.has(rowId))
  return stored.length - unseen.length < seen.size ? undefined : unseen
}

/** Whether the run received the listed customers and no others. Sets of as many rows, with the same sum, are the same. */
function isAllReceived(db: Connection, { organization, seen }: Run): boolean {
  const listed = countListed(db, organization)
  return listed.count === seen.size && listed.sum === seen.sum()
}

const FIND_NOT_REMOVED = `
  SELECT customers.row_id, id, name, username, email, created_at_utc, coalesce(absences.proven, 0) AS missing_proven,
    coalesce(absences.scans, 0) AS missing_scans
  FROM customers LEFT JOIN absences ON absences.row_id = customers.row_id AND missing_since IS NOT NULL
  WHERE customers.row_id = ? AND removed_at IS NULL`

const FIND_LISTED_BEFORE = `${FIND_NOT_REMOVED} AND missing_since IS NULL AND customers.organization = ?`

/** One customer that was listed until now and that the run did not receive; undefined for any other, and one missing already. */
export function findListedBefore(db: Connection, run: Run, rowId: number): Absent | undefined {
  const find = statement<[number, string], AbsentColumns>(db, FIND_LISTED_BEFORE)
  const row = run.seen.has(rowId) ? undefined : find.get(rowId, run.organization)
  return row === undefined || run.rejectedIds.has(row.id) ? undefined : absentOf(row)
}

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
  for (const { organization, row_id, id } of held) {
    statement(db, 'UPDATE customers SET missing_since = coalesce(missing_since, ?) WHERE row_id = ?').run(
      sqlTime(nowMs),
      row_id,
    )
    remove(db, { id: runId, organization }, { rowId: row_id, id }, nowMs)
  }
  if (held.length === 0) discardRemovals(db, runId)
  return held.length
}

/** Discards the removals that run held back; the next scan may hold them back again. Returns their number. */
export function discardRemovals(db: Connection, runId: number): number {
  const { changes } = statement(db, 'DELETE FROM held_removals WHERE run_id = ?').run(runId)
  if (changes > 0) return changes
  throw holdsNothing(runId)
}

/** Whether an absence could lead to a removal for any customer. */
export function mayBeCandidates(db: Connection, organization: string, { after }: RemovalRule): boolean {
  if (after <= 1) return true
  const missing = statement<[string], number>(
    db,
    'SELECT 1 FROM customers WHERE organization = ? AND missing_since IS NOT NULL AND removed_at IS NULL LIMIT 1',
  ).pluck()
  return missing.get(organization) !== undefined
}

/** Whether so many customers of the run are absent at once that they are held back. */
export function areTooManyAbsent(db: Connection, run: Run, absent: number, rule: RemovalRule): boolean {
  const before = () => countListed(db, run.organization).count - countArrived(db, run)
  return areTooMany(absent, { before, now: run.seen.size + run.rejectedIds.size }, rule)
}

type Counted = { count: number; sum: number }

/** All of them but the removed ones, with the sum of their row numbers. */
function countListed(db: Connection, organization: string): Counted {
  const count = 'SELECT COUNT(*) AS count, coalesce(SUM(row_id), 0) AS sum FROM customers WHERE organization = ?'
  const stored = statement<[string], Counted>(db, count).get(organization)
  const removed = statement<[string], Counted>(db, `${count} AND removed_at IS NOT NULL`).get(organization)
  return { count: (stored?.count ?? 0) - (removed?.count ?? 0), sum: (stored?.sum ?? 0) - (removed?.sum ?? 0) }
}

/**
 * The customers that came with this run and those it continued, which share the start of their scan, and with quick runs since the last
 * full one: they are new to the list, or were removed before. While removals are held back, so are those that came since the first run
 * that held them: otherwise the next night would find fewer absent by comparison, and no longer hold them.
 */
function countArrived(db: Connection, run: Run): number {
  return (
    statement<[Record<string, unknown>], number>(
      db,
      `WITH waiting AS (SELECT EXISTS (SELECT 1 FROM held_removals WHERE organization = @organization) AS is_held)
       SELECT SUM(inserted + returned) FROM runs, waiting WHERE organization = @organization AND (data_as_of = @dataAsOf
         OR ((is_held OR ${IS_QUICK}) AND id > (SELECT coalesce(MAX(id), 0) FROM runs
           WHERE organization = @organization AND status = 'complete' AND id < @id
             AND (NOT is_held OR (held = 0 AND proof <> 'unproven')))))`,
    )
      .pluck()
      .get({ organization: run.organization, dataAsOf: sqlTime(run.dataAsOfMs), id: run.id }) ?? 0
  )
}

/** Holds removals of the latest run only: an earlier run's customers are absent again, or have been received since. */
export function holdBack(db: Connection, run: Run, absent: readonly Absent[]): void {
  statement(db, 'DELETE FROM held_removals WHERE organization = ?').run(run.organization)
  const hold = statement(db, 'INSERT INTO held_removals (organization, row_id, run_id) VALUES (?, ?, ?)')
  for (const { rowId } of absent) hold.run(run.organization, rowId, run.id)
}

export function remove(
  db: Connection,
  run: Pick<Run, 'id' | 'organization'>,
  { rowId, id }: Pick<Absent, 'rowId' | 'id'>,
  nowMs: number,
): void {
  const now = sqlTime(nowMs)
  const removed = statement(
    db,
    'UPDATE customers SET removed_at = ?, is_active = 0, last_run_id = ?, updated_at = ? WHERE row_id = ?',
  ).run(now, run.id, updateStamp(db, nowMs), rowId)
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
