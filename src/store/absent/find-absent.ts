import { MirrorUnusable } from '../../errors/errors.ts'
import type { Absent, RemovalRule, Run } from '../../model/run.ts'
import { givenAs, isIn, moment, rowsOf, secondOf, sql, type Sql, sqlTime, text } from '../port/sql.ts'
import { countOf, type Session } from '../port/store.ts'
import { firstOfScan, NOT_REJECTED } from '../reading.ts'
import { updateStamp } from '../runs/lease.ts'
import { IS_PARTIAL } from '../schema/views.ts'

/** The customers not removed that the run did not receive, not even in a reject. Throws as `findUnseen` does. */
export async function findAbsent(session: Session, run: Run): Promise<{ absent: Absent[]; notRemoved: number }> {
  const { unseen, notRemoved } = await findUnseen(session, run)
  const found = unseen.length === 0 ? [] : await findNotRemoved(session, run.organization, unseen, sql``)
  const listed = found.length === 0 ? new Set() : await listedMeanwhile(session, run)
  const absent = found.filter(({ id, rowId }) => !run.rejectedIds.has(id) && !listed.has(rowId))
  return { absent, notRemoved }
}

/**
 * The rows that the run did not receive, removed ones too; none where it received every customer that is not removed. Throws MirrorUnusable
 * `replaced` where received ones are gone.
 */
export async function findUnseen(session: Session, { organization, seen }: Run) {
  const { count: notRemoved, sum } = await countNotRemoved(session, organization)
  // As many rows with the same sum are taken for the same rows.
  if (notRemoved === seen.size && sum === seen.sum()) return { unseen: [], notRemoved }
  const stored = await session.numbers(sql`SELECT row_id FROM customers WHERE organization = ${organization}`)
  const unseen = stored.filter((rowId) => !seen.has(rowId))
  // No trigger noticed: they were off, rows were replaced, or one table was put back.
  if (stored.length - unseen.length < seen.size)
    throw new MirrorUnusable(
      `${organization}: customers that this run received are not in the mirror. Another program deleted or replaced their rows, table ` +
        'customers alone was put back from a backup, or in PostgreSQL a policy hides rows from this user. Drop such a policy, and sync again: ' +
        'the next run reads every record, and adds what is missing.',
      { code: 'replaced' },
    )
  return { unseen, notRemoved }
}

async function findNotRemoved(session: Session, organization: string, rowIds: readonly number[], more: Sql) {
  return await session.all<Absent>(sql`
    SELECT customers.row_id AS "rowId", id, created_at_utc AS "createdAtUtc", coalesce(absences.proven, 0) AS "missingProven",
      coalesce(absences.scans, 0) AS "missingScans", coalesce(absences.whole, 0) AS "missingWhole"
    FROM customers LEFT JOIN absences ON absences.organization = customers.organization
      AND absences.row_id = customers.row_id AND missing_since IS NOT NULL
    WHERE ${rowsOf(organization, rowIds, 'customers')} AND removed_at IS NULL ${more} ORDER BY customers.row_id`)
}

/** Those of the rows that were listed until now and that the run did not receive, in the given order, without rejected ones. */
export async function findListedBefore(session: Session, run: Run, rowIds: readonly number[]): Promise<Absent[]> {
  const unseen = rowIds.filter((rowId) => !run.seen.has(rowId))
  if (unseen.length === 0) return []
  const isListed = sql`AND missing_since IS NULL AND ${text(NOT_REJECTED)}`
  const found = await findNotRemoved(session, run.organization, unseen, isListed)
  const byRow = new Map(found.map((row) => [row.rowId, row]))
  return unseen.flatMap((rowId) => byRow.get(rowId) ?? []).filter(({ id }) => !run.rejectedIds.has(id))
}

/** This few absences at once are never held back for their share. */
const ALWAYS_BELIEVED = 20

/** So many absences at once, or more, are held back if no customer known before is left. */
const WHOLE_LIST = 3

/** Whether too many are absent at once to be marked: all that were listed before, or a large share of them, or the list is empty. */
export async function areTooManyAbsent(
  session: Session,
  run: Run,
  { absent, notRemoved }: { absent: number; notRemoved?: number },
  { maxShare }: RemovalRule,
): Promise<boolean> {
  if (run.seen.size + run.rejectedIds.size + run.suppressed.size === 0) return true
  if (absent < WHOLE_LIST) return false
  const listed = notRemoved ?? (await countNotRemoved(session, run.organization)).count
  const before = listed - (await countArrived(session, run))
  return absent >= before || (absent > ALWAYS_BELIEVED && absent > maxShare * before)
}

type Counted = { count: number; sum: number }

/** The customers that are not removed, with the sum of their row numbers: all are counted in an index, and only removed rows are read. */
async function countNotRemoved(session: Session, organization: string): Promise<Counted> {
  const counted = await session.first<Counted>(sql`
    SELECT stored.count - removed.count AS count, stored.sum - removed.sum AS sum
    FROM (SELECT count(*) AS count, coalesce(sum(row_id), 0) AS sum FROM customers WHERE organization = ${organization}) AS stored,
      (SELECT count(*) AS count, coalesce(sum(row_id), 0) AS sum FROM customers
        WHERE organization = ${organization} AND removed_at IS NOT NULL) AS removed`)
  return counted ?? { count: 0, sum: 0 }
}

/** The customers that came with this scan and with partial runs since the last full one; while removals are held, since the first that held them. */
async function countArrived(session: Session, { organization, id, readAsOfMs }: Run): Promise<number> {
  const isHeld = sql`EXISTS (SELECT 1 FROM held_rows WHERE organization = ${organization})`
  const arrived = sql`
    SELECT coalesce(sum(inserted + returned), 0) FROM runs, (SELECT ${isHeld} AS is_held) AS waiting
    WHERE organization = ${organization} AND (read_as_of = ${moment(sqlTime(readAsOfMs))}
      OR ((is_held OR ${text(IS_PARTIAL)}) AND id > (SELECT coalesce(max(id), 0) FROM runs
        WHERE organization = ${organization} AND status = 'complete' AND id < ${id}
          AND (NOT is_held OR (held = 0 AND proof <> 'unproven')))))`
  return countOf(session, arrived)
}

/** The customers that partial runs received while the scan was interrupted: they may stand in a part that was read before, and are not absent. */
async function listedMeanwhile(session: Session, { organization, resumedFrom }: Run): Promise<Set<number>> {
  if (resumedFrom === undefined) return new Set()
  const runs = await session.numbers(sql`
    SELECT id FROM runs WHERE organization = ${organization} AND ${text(IS_PARTIAL)} AND inserted + updated + rejected > 0
      AND id > ${firstOfScan(resumedFrom)}`)
  // Without one, no customer is read.
  if (runs.length === 0) return new Set()
  const listed = await session.numbers(sql`
    SELECT row_id FROM customers WHERE organization = ${organization} AND (${isIn('last_run_id', runs)}
      OR id IN (SELECT record_id FROM rejects WHERE organization = ${organization} AND ${isIn('run_id', runs)}))`)
  return new Set(listed)
}

/** Marks customers as listed that this scan read before it was interrupted, and that a partial run found absent after that. */
export async function markReadBefore(session: Session, run: Run, nowMs: number) {
  if (run.resumedFrom === undefined) return
  const missing = await session.numbers(sql`
    SELECT row_id FROM customers WHERE organization = ${run.organization} AND missing_since IS NOT NULL AND removed_at IS NULL`)
  const listed = missing.filter((rowId) => run.seen.has(rowId))
  await markListed(session, run.organization, listed, nowMs)
}

/** Marks rows as listed: their absences restart at 0. */
export async function markListed(session: Session, organization: string, rowIds: readonly number[], nowMs: number) {
  if (rowIds.length === 0) return
  await session.run(sql`
    UPDATE customers SET missing_since = NULL, updated_at = ${await updateStamp(session, nowMs)}
    WHERE ${rowsOf(organization, rowIds)} AND missing_since IS NOT NULL`)
  await session.run(sql`DELETE FROM absences WHERE ${rowsOf(organization, rowIds)}`)
}

/** A creation time further in the future than any clock is wrong. */
const AHEAD_MS = 24 * 3_600_000
/** Times are compared as texts, which later years have with a sign. */
const LATEST_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

/**
 * The rows of absent customers whose absence counts for nothing: a list older than the last one read lacks exactly the newest customers. Once it
 * shows one created after them, their absence is real. Times are compared by the second. Customers of the second of the newest one listed are
 * judged like later ones, where there are any; where there are none, the list is no older one: a whole import may be of one second.
 */
export async function findUnjudged(session: Session, run: Run, absent: readonly Absent[], serviceMs = 0) {
  // The later of the two clocks decides: that of a machine may be days behind.
  const last = secondOf(sqlTime(Math.min(Math.max(run.startedAtMs, serviceMs) + AHEAD_MS, LATEST_MS)))
  const timeOf = ({ createdAtUtc }: Absent) => secondOf(createdAtUtc ?? '')
  const dated = absent.filter((row) => row.createdAtUtc !== null && timeOf(row) <= last)
  if (dated.length === 0) return new Set<number>()
  const rowIds = absent.map(({ rowId }) => rowId)
  const newest = await session.first<{ at: string | null }>(sql`
    SELECT max(created_at_utc) AS at FROM customers WHERE organization = ${run.organization} AND removed_at IS NULL
      AND created_at_utc <= ${moment(last)} AND row_id NOT IN (SELECT row_id FROM ${givenAs('row_id', rowIds)})`)
  const listed = newest?.at == null ? undefined : secondOf(newest.at)
  if (listed === undefined || dated.every((row) => timeOf(row) <= listed)) return new Set<number>()
  return new Set(dated.flatMap((row) => (timeOf(row) >= listed ? [row.rowId] : [])))
}
