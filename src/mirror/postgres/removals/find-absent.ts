import type { Absent, RemovalRule, Run } from '../../../run.ts'
import { NOT_REJECTED } from '../../sql/open-rejects.ts'
import { areTooMany } from '../../rules/removal-rule.ts'
import { absentOf, type AbsentColumns, type AbsentFound } from '../../rows/absent.ts'
import { IS_QUICK } from '../../sql/run-conditions.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { GIVEN_ROWS } from '../given-rows.ts'
import { rangesOf } from './row-ranges.ts'
import type { Session } from '../session.ts'
import { secondOf } from '../stored-time.ts'
import { listedMeanwhile } from './quick-runs-meanwhile.ts'

/**
 * The customers of the run's organization that are not removed and that the run did not receive, not even in a reject, by id.
 * Undefined if received customers are no longer in the mirror. Where none is absent, no row is read: the rows are only counted.
 */
export async function findAbsent(session: Session, run: Run): Promise<AbsentFound | undefined> {
  const { organization, seen } = run
  const stored = await countNotRemoved(session, organization)
  if (isReceived(stored, run)) return { absent: [], notRemoved: stored.count }
  const received = rangesOf(seen)
  if ((await countIn(session, organization, received)) < seen.size) return undefined
  const rows = await session.all<AbsentColumns>(
    `${FIND_NOT_REMOVED} AND NOT customers.row_id <@ $2::int8multirange ORDER BY id`,
    organization,
    received,
  )
  const listed = rows.length === 0 ? new Set() : await listedMeanwhile(session, run)
  const absent = rows.map(fromColumns).filter(({ id, rowId }) => !run.rejectedIds.has(id) && !listed.has(rowId))
  return { absent, notRemoved: stored.count }
}

/** Whether the mirror still holds every customer that the run received. */
export async function holdsReceived(session: Session, run: Run): Promise<boolean> {
  if (isReceived(await countNotRemoved(session, run.organization), run)) return true
  return (await countIn(session, run.organization, rangesOf(run.seen))) === run.seen.size
}

/** Whether these are the customers that the run received: as many rows with the same sum are taken for the same rows. */
function isReceived({ count, sum }: Counted, { seen }: Run): boolean {
  return count === seen.size && sum === seen.sum()
}

async function countIn(session: Session, organization: string, ranges: string): Promise<number> {
  const found = await session.first<{ count: number }>(
    'SELECT count(*) AS count FROM customers WHERE organization = $1 AND row_id <@ $2::int8multirange',
    organization,
    ranges,
  )
  return found?.count ?? 0
}

const FIND_NOT_REMOVED = `
  SELECT customers.row_id, id, name, username, email, created_at_utc, coalesce(absences.proven, 0) AS missing_proven,
    coalesce(absences.scans, 0) AS missing_scans
  FROM customers LEFT JOIN absences ON absences.organization = customers.organization
    AND absences.row_id = customers.row_id AND missing_since IS NOT NULL
  WHERE customers.organization = $1 AND removed_at IS NULL`

/**
 * Those of the rows that were listed until now and that the run did not receive, in the given order, without those whose record is rejected
 * since.
 */
export async function findListedBefore(session: Session, run: Run, rowIds: readonly number[]): Promise<Absent[]> {
  const unseen = rowIds.filter((rowId) => !run.seen.has(rowId))
  if (unseen.length === 0) return []
  const rows = await session.all<AbsentColumns>(
    `${FIND_NOT_REMOVED} AND missing_since IS NULL AND customers.row_id = ANY ${GIVEN_ROWS} AND ${NOT_REJECTED}`,
    run.organization,
    unseen,
  )
  const byRow = new Map(rows.map((row) => [row.row_id, fromColumns(row)]))
  const found = unseen.flatMap((rowId) => byRow.get(rowId) ?? [])
  return found.filter(({ id }) => !run.rejectedIds.has(id))
}

/** Whether an absence could lead to a removal for any customer. */
export async function mayBeCandidates(
  session: Session,
  organization: string,
  { after }: RemovalRule,
): Promise<boolean> {
  if (after <= 1) return true
  const missing = await session.first(
    'SELECT 1 FROM customers WHERE organization = $1 AND missing_since IS NOT NULL AND removed_at IS NULL LIMIT 1',
    organization,
  )
  return missing !== undefined
}

/** Whether so many customers of the run are absent at once that they are held back. `notRemoved`: how many are not removed, if counted. */
export async function areTooManyAbsent(
  session: Session,
  run: Run,
  { absent, notRemoved }: { absent: number; notRemoved?: number },
  rule: RemovalRule,
): Promise<boolean> {
  const listed = notRemoved ?? (await countNotRemoved(session, run.organization)).count
  const arrived = await countArrived(session, run)
  return areTooMany(absent, { before: () => listed - arrived, now: run.seen.size + run.rejectedIds.size }, rule)
}

type Counted = { count: number; sum: number }

/** The customers that are not removed, with the sum of their row numbers: all are counted in an index, and only removed rows are read. */
async function countNotRemoved(session: Session, organization: string): Promise<Counted> {
  const listed = await session.first<Counted>(
    `SELECT stored.count - removed.count AS count, coalesce(stored.sum - coalesce(removed.sum, 0), 0)::bigint AS sum
     FROM (SELECT count(*), sum(row_id) AS sum FROM customers WHERE organization = $1) AS stored,
       (SELECT count(*), sum(row_id) AS sum FROM customers WHERE organization = $1 AND removed_at IS NOT NULL) AS removed`,
    organization,
  )
  return listed ?? { count: 0, sum: 0 }
}

/**
 * The customers that came with this run and those it continued, which share the start of their scan, and with quick runs since the last
 * full one: they are new to the list, or were removed before. While removals are held back, so are those that came since the first run
 * that held them: otherwise the next night would find fewer absent by comparison, and no longer hold them.
 */
async function countArrived(session: Session, { organization, id, readAsOfMs }: Run): Promise<number> {
  const arrived = await session.first<{ sum: number }>(
    `WITH waiting AS (SELECT EXISTS (SELECT 1 FROM held_removals WHERE organization = $1) AS is_held)
     SELECT coalesce(sum(inserted + returned), 0) AS sum FROM runs, waiting WHERE organization = $1 AND (read_as_of = $2::timestamptz
       OR ((is_held OR ${IS_QUICK}) AND id > (SELECT coalesce(max(id), 0) FROM runs
         WHERE organization = $1 AND status = 'complete' AND id < $3
           AND (NOT is_held OR (held = 0 AND proof <> 'unproven')))))`,
    organization,
    sqlTime(readAsOfMs),
    id,
  )
  return arrived?.sum ?? 0
}

function fromColumns(row: AbsentColumns): Absent {
  const { created_at_utc } = row
  return absentOf({ ...row, created_at_utc: created_at_utc === null ? null : secondOf(created_at_utc) })
}
