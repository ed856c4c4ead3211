import type { Absent, RemovalRule, Run } from '../../../run.ts'
import type { Connection } from '../opening/database.ts'
import { listedMeanwhile } from './quick-runs-meanwhile.ts'
import { NOT_REJECTED } from '../../sql/open-rejects.ts'
import { areTooMany } from '../../rules/removal-rule.ts'
import { absentOf, type AbsentColumns, type AbsentFound } from '../../rows/absent.ts'
import { IS_QUICK } from '../../sql/run-conditions.ts'
import { RowSet } from '../../../list/row-set.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { statement } from '../statement.ts'

/**
 * The customers of the run's organization that are not removed and that the run did not receive, not even in a reject. Undefined if
 * received customers are no longer in the mirror: rows with the same id replaced them, which no trigger reports.
 */
export function findAbsent(db: Connection, run: Run): AbsentFound | undefined {
  const stored = countNotRemoved(db, run.organization)
  const more = beyondReceived(stored, run)
  if (isNone(more)) return { absent: [], notRemoved: stored.count }
  const unseen = findAmongKnown(db, run, more) ?? findAmongAll(db, run)
  if (unseen === undefined) return undefined
  const listed = unseen.length === 0 ? new Set() : listedMeanwhile(db, run)
  const absent = unseen.filter(({ id, rowId }) => !run.rejectedIds.has(id) && !listed.has(rowId))
  return { absent, notRemoved: stored.count }
}

/** Whether the mirror still holds every customer that the run received. */
export function holdsReceived(db: Connection, run: Run): boolean {
  return isNone(beyondReceived(countNotRemoved(db, run.organization), run)) || findUnseen(db, run) !== undefined
}

/**
 * How many of the customers that are not removed the run did not receive, and the sum of their rows. As many rows with the same sum are
 * taken for the same rows.
 */
function beyondReceived({ count, sum }: Counted, { seen }: Run): Counted {
  return { count: count - seen.size, sum: sum - seen.sum() }
}

function isNone({ count, sum }: Counted): boolean {
  return count === 0 && sum === 0
}

/**
 * Looks for the absent customers among those of the list as last read and those in doubt; undefined unless they are all there. Mostly they
 * are: then no other row of the mirror is read.
 */
function findAmongKnown(
  db: Connection,
  { organization, seen, list, doubted }: Run,
  more: Counted,
): Absent[] | undefined {
  const unseen = new RowSet()
  for (const rowId of list.columns.rowIds) if (rowId !== 0 && !seen.has(rowId)) unseen.add(rowId)
  for (const rowId of doubted) if (!seen.has(rowId)) unseen.add(rowId)
  if (unseen.size < more.count) return undefined
  const absent = findNotRemoved(db, organization, unseen)
  const sum = absent.reduce((total, { rowId }) => total + rowId, 0)
  return absent.length === more.count && sum === more.sum ? absent : undefined
}

function findAmongAll(db: Connection, run: Run): Absent[] | undefined {
  const unseen = findUnseen(db, run)
  return unseen && findNotRemoved(db, run.organization, unseen)
}

/** All in one statement: each by itself takes five times as long. */
function findNotRemoved(db: Connection, organization: string, rowIds: Iterable<number>): Absent[] {
  const find = statement<[string, string], AbsentColumns>(
    db,
    `${FIND_NOT_REMOVED} AND customers.row_id IN (SELECT value FROM json_each(?))`,
  )
  return find.all(organization, JSON.stringify([...rowIds])).map(absentOf)
}

/** The rows that the run did not receive; undefined if received ones are not there. */
function findUnseen(db: Connection, { organization, seen }: Run): number[] | undefined {
  const rows = statement<[string], number>(db, 'SELECT row_id FROM customers WHERE organization = ?').pluck()
  // All at once: one by one, each row costs three times as much.
  const stored = rows.all(organization)
  const unseen = stored.filter((rowId) => !seen.has(rowId))
  return stored.length - unseen.length < seen.size ? undefined : unseen
}

const FIND_NOT_REMOVED = `
  SELECT customers.row_id, id, name, username, email, created_at_utc, coalesce(absences.proven, 0) AS missing_proven,
    coalesce(absences.scans, 0) AS missing_scans
  FROM customers LEFT JOIN absences ON absences.row_id = customers.row_id AND missing_since IS NOT NULL
  WHERE customers.organization = ? AND removed_at IS NULL`

const FIND_LISTED_BEFORE = `${FIND_NOT_REMOVED} AND missing_since IS NULL AND customers.row_id = ? AND ${NOT_REJECTED}`

/**
 * One customer that was listed until now and that the run did not receive; undefined for any other, for one missing already, and for one whose
 * record is rejected since.
 */
export function findListedBefore(db: Connection, run: Run, rowId: number): Absent | undefined {
  const find = statement<[string, number], AbsentColumns>(db, FIND_LISTED_BEFORE)
  const row = run.seen.has(rowId) ? undefined : find.get(run.organization, rowId)
  return row === undefined || run.rejectedIds.has(row.id) ? undefined : absentOf(row)
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

/** Whether so many customers of the run are absent at once that they are held back. `notRemoved`: how many are not removed, if counted. */
export function areTooManyAbsent(
  db: Connection,
  run: Run,
  { absent, notRemoved }: { absent: number; notRemoved?: number },
  rule: RemovalRule,
): boolean {
  const before = () => (notRemoved ?? countNotRemoved(db, run.organization).count) - countArrived(db, run)
  return areTooMany(absent, { before, now: run.seen.size + run.rejectedIds.size }, rule)
}

type Counted = { count: number; sum: number }

/** The customers that are not removed, with the sum of their row numbers. */
function countNotRemoved(db: Connection, organization: string): Counted {
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
       SELECT SUM(inserted + returned) FROM runs, waiting WHERE organization = @organization AND (read_as_of = @readAsOf
         OR ((is_held OR ${IS_QUICK}) AND id > (SELECT coalesce(MAX(id), 0) FROM runs
           WHERE organization = @organization AND status = 'complete' AND id < @id
             AND (NOT is_held OR (held = 0 AND proof <> 'unproven')))))`,
    )
      .pluck()
      .get({ organization: run.organization, readAsOf: sqlTime(run.readAsOfMs), id: run.id }) ?? 0
  )
}
