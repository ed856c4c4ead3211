import { UsageError } from '../../errors/errors.ts'
import type { HeldRemovals } from '../../model/mirror.ts'
import { removingProof, type RemovingProof } from '../../model/report.ts'
import type { Absent, Ending, Listed, Run } from '../../model/run.ts'
import { areTooManyAbsent, findAbsent, findListedBefore, findUnjudged, findUnseen, markListed } from './find-absent.ts'
import { type Absences, decideAbsences, NO_ABSENCES } from './removal-rule.ts'
import { requireTaken } from '../refusals.ts'
import { APART, fromSqlTime, given, givenAs, moment, replacing, rowsOf, sql, sqlTime, text } from '../port/sql.ts'
import { countOf, records, type Session } from '../port/store.ts'
import { lockLeasesOf, updateStamp } from '../runs/lease.ts'

/** Marks the absent customers of a scan as missing or removed, or holds them back, as `decideAbsences` decides. Throws as `findAbsent` does. */
export async function markAbsent(session: Session, run: Run, ending: Ending, nowMs: number): Promise<Absences> {
  const { removals, serviceMs } = ending
  const proof = removingProof(ending)
  if (proof === undefined || removals === undefined) {
    // A list that is cut lacks nearly every customer, night after night: none of them is loaded.
    await findUnseen(session, run)
    return NO_ABSENCES
  }
  const { absent, notRemoved } = await findAbsent(session, run)
  if (absent.length === 0) return NO_ABSENCES
  const unjudged = await findUnjudged(session, run, absent, serviceMs)
  const isTooMuch = await areTooManyAbsent(session, run, { absent: absent.length, notRemoved }, removals.rule)
  const decision = decideAbsences({ absent, unjudged, proof, removals, isTooMuch })
  const { listed, held, missing, reasons, isBelieved } = decision
  const present = listed.map(({ rowId }) => rowId)
  await markListed(session, run.organization, present, nowMs)
  await release(session, run.organization, present)
  if (held.length > 0 && !(isTooMuch && (await areDiscarded(session, run, absent)))) await holdBack(session, run, held)
  await markMissing(session, run, missing, { proof, nowMs })
  const removed = missing.flatMap(({ row, isRemoved }) => (isRemoved ? [row.rowId] : []))
  await removeRows(session, run, removed, nowMs)
  return {
    ...{ missing: missing.length - removed.length, removed: removed.length, held: held.length },
    ...{ reasons, isBelieved, found: listed.map(({ id }) => id) },
  }
}

/**
 * Marks customers that a partial run found absent as missing, except the newest alone, which are `unmarked`. That counts as no absence, and
 * removes no customer. `held`: so many at once that none was marked; the next full run decides, and the order as it was known stays.
 */
export async function markGone(session: Session, run: Run, ending: Ending, nowMs: number) {
  const { absentRows = [], openAbsences = 0, removals, serviceMs } = ending
  const gone = await findListedBefore(session, run, absentRows)
  const none = { ...NO_ABSENCES, unmarked: [] }
  if (gone.length === 0 || removals === undefined) return none
  const absent = gone.length + openAbsences
  if (await areTooManyAbsent(session, run, { absent }, removals.rule)) return { ...none, held: absent }
  const unjudged = await findUnjudged(session, run, gone, serviceMs)
  const missing = gone.filter(({ rowId }) => !unjudged.has(rowId)).map((row) => ({ row, isCounted: false }))
  await markMissing(session, run, missing, { proof: 'whole', nowMs })
  const reasons = unjudged.size > 0 ? (['older-list'] as const) : []
  return { ...none, missing: missing.length, reasons, unmarked: [...unjudged] }
}

async function markMissing(
  session: Session,
  run: Pick<Run, 'organization'>,
  missing: readonly { row: Absent; isCounted: boolean }[],
  { proof, nowMs }: { proof: RemovingProof; nowMs: number },
) {
  if (missing.length === 0) return
  const rowIds = missing.map(({ row }) => row.rowId)
  const stamp = await updateStamp(session, nowMs)
  await session.run(sql`
    UPDATE customers SET missing_since = ${absentSince(nowMs)}, updated_at = ${stamp}
    WHERE ${rowsOf(run.organization, rowIds)} AND missing_since IS NULL`)
  const rows = sql`customers WHERE ${rowsOf(run.organization, rowIds)} AND missing_since IS NULL`
  const unmarked = await countOf(session, sql`SELECT count(*) FROM ${rows}`)
  requireTaken(run, 'customers', { given: unmarked, taken: 0 })
  // What was counted before: nothing, at the first absence since the customer was listed.
  const counted = missing.map(({ row, isCounted }) => ({
    row_id: row.rowId,
    proven: row.missingProven + Number(isCounted && proof === 'proven'),
    scans: row.missingScans + Number(isCounted && proof !== 'whole'),
    whole: row.missingWhole + Number(isCounted),
  }))
  const columns = { row_id: 'bigint', proven: 'bigint', scans: 'bigint', whole: 'bigint' }
  const noted = await session.run(sql`
    INSERT INTO absences (organization, row_id, proven, scans, whole)
    SELECT ${run.organization}, row_id, proven, scans, whole FROM ${given(counted, columns)} WHERE true
    ON CONFLICT (organization, row_id) ${text(replacing('proven', 'scans', 'whole'))}`)
  requireTaken(run, 'absences', { given: counted.length, taken: noted })
}

/** Removals that were held back and not yet decided, newest first. */
export function listHeldRemovals(session: Session): Promise<HeldRemovals[]> {
  const held = sql`
    SELECT run_id, held_rows.organization, count(*) AS held, started_at FROM held_rows JOIN runs ON runs.id = run_id
    WHERE discarded = 0 GROUP BY run_id, held_rows.organization, started_at ORDER BY run_id DESC`
  return records(session, held)
}

/** The customers whose removal that run holds back, by name, and since when the list does not hold them. */
export async function listHeldCustomers(session: Session, runId: number) {
  const held = await session.all<Listed & { since: string }>(sql`
    SELECT id, name, username, email, absent_since AS since FROM held_removals WHERE run_id = ${runId} ORDER BY name, id`)
  return held.map(({ since, ...customer }) => ({ ...customer, absentSinceMs: fromSqlTime(since) }))
}

/** Removes the customers whose removal that run held back. Returns their number. Throws UsageError if there are none. */
export async function approveRemovals(session: Session, runId: number, nowMs: number): Promise<number> {
  await lockLeasesOf(session, runId)
  const held = await session.all<{ organization: string; row_id: number }>(sql`
    SELECT held_rows.organization, held_rows.row_id FROM held_rows
    JOIN customers ON customers.row_id = held_rows.row_id AND customers.organization = held_rows.organization
    WHERE run_id = ${runId} AND discarded = 0 AND removed_at IS NULL ORDER BY held_rows.row_id`)
  const rowIds = held.map(({ row_id }) => row_id)
  const [first] = held
  if (first === undefined) await discardRemovals(session, runId)
  else await removeRows(session, { id: runId, organization: first.organization }, rowIds, nowMs)
  return held.length
}

/** Discards the removals that run held back: they wait for no decision as long as the discard lasts. Returns their number, or throws UsageError. */
export async function discardRemovals(session: Session, runId: number): Promise<number> {
  const discarded = await session.run(sql`UPDATE held_rows SET discarded = 1 WHERE run_id = ${runId} AND discarded = 0`)
  if (discarded > 0) return discarded
  throw new UsageError(`Run ${runId} holds no removals. 'customer-mirror removals list' lists the runs that do.`)
}

/** A discard ends when the absent customers are so many times those that it named. */
const MOST_GROWTH = 1.5

/** Whether a person has discarded these absences: none of the customers named then has been listed since, and their number has not grown by half. */
async function areDiscarded(session: Session, run: Run, absent: readonly Absent[]): Promise<boolean> {
  const left = await session.first<{ named: number | null; waiting: number }>(sql`
    SELECT count(*) AS waiting, max(held) AS named FROM held_rows JOIN runs ON runs.id = run_id
    WHERE held_rows.organization = ${run.organization} AND discarded = 1`)
  const { named, waiting } = left ?? { named: null, waiting: 0 }
  return waiting > 0 && waiting === named && absent.length < MOST_GROWTH * waiting
}

/** Holds removals of the latest run only: an earlier run's customers are absent again, or have been received since. */
async function holdBack(session: Session, run: Run, absent: readonly Absent[]) {
  const rowIds = absent.map(({ rowId }) => rowId)
  const taken = await session.run(sql`
    INSERT INTO held_rows (organization, row_id, run_id, absent_since)
    SELECT ${run.organization}, row_id, ${run.id}, ${moment(sqlTime(run.readAsOfMs))} FROM ${givenAs('row_id', rowIds)} WHERE true
    ON CONFLICT (organization, row_id) DO UPDATE SET run_id = excluded.run_id, discarded = 0`)
  requireTaken(run, 'held_rows', { given: absent.length, taken })
  await session.run(sql`DELETE FROM held_rows WHERE organization = ${run.organization} AND run_id <> ${run.id}`)
}

/** The removals of these rows are no longer held back. */
export async function release(session: Session, organization: string, rowIds: readonly number[]) {
  if (rowIds.length > 0) await session.run(sql`DELETE FROM held_rows WHERE ${rowsOf(organization, rowIds)}`)
}

/** Since the removal of a customer was held back, or from now on. */
const absentSince = (nowMs: number) => sql`coalesce((SELECT absent_since FROM held_rows
  WHERE held_rows.organization = customers.organization AND held_rows.row_id = customers.row_id), ${moment(sqlTime(nowMs))})`

/** Removes customers, in this order in the feed. */
async function removeRows(
  session: Session,
  run: Pick<Run, 'id' | 'organization'>,
  rowIds: readonly number[],
  nowMs: number,
) {
  if (rowIds.length === 0) return
  const { organization } = run
  const now = sqlTime(nowMs)
  const taken = await session.run(sql`
    UPDATE customers SET missing_since = coalesce(missing_since, ${absentSince(nowMs)}), removed_at = ${now}, last_run_id = ${run.id},
      updated_at = ${await updateStamp(session, nowMs)} WHERE ${rowsOf(organization, rowIds)}`)
  requireTaken(run, 'customers', { given: rowIds.length, taken })
  await session.run(sql`DELETE FROM absences WHERE ${rowsOf(organization, rowIds)}`)
  await release(session, organization, rowIds)
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
