import { AccountingBroken } from '../../errors/errors.ts'
import { addsUp, endedWell, type RecordCounts, type Report } from '../../model/report.ts'
import type { Ending, Run } from '../../model/run.ts'
import { findListedBefore, markReadBefore } from '../absent/find-absent.ts'
import { type Absences, NO_ABSENCES } from '../absent/removal-rule.ts'
import { markAbsent, markGone } from '../absent/removals.ts'
import { wentBack } from '../refusals.ts'
import { isIn, sql, sqlTime } from '../port/sql.ts'
import { LEFT_OUT, type Session, together } from '../port/store.ts'
import { noteFilled } from '../privacy.ts'
import { firstOfScan } from '../reading.ts'
import { releaseLease, renewLease } from './lease.ts'
import { deleteRows, forgetWindows, storeLaterOrder, storeList } from './list-memory.ts'
import { concludeShape, type Shape } from './shape.ts'
import { storableJson, storableText } from '../../text/storable-text.ts'

/**
 * Ends a run and releases its lease. A run cannot be complete or partial if it lost its lease to another one (throws OrganizationLeased), or
 * if its stored numbers do not add up (throws AccountingBroken). A run that failed after it lost its lease changes nothing.
 */
export async function finishRun(session: Session, run: Run, asked: Ending, nowMs: number): Promise<Report> {
  if (endedWell(asked)) await requireAddedUp(session, run, nowMs)
  const shape = await concludeShape(session, run, asked, nowMs)
  const shaped = endingOf(asked, shape)
  const absences = await concludeAbsences(session, run, shaped, nowMs)
  const ending = absences.isBelieved
    ? { ...shaped, reasons: [...shaped.reasons, ...absences.reasons] }
    : unproven(shaped, absences.reasons, { found: absences.found })
  const report = endedReport(run, ending, { ...absences, ...shape }, nowMs)
  const isWhole = ending.status === 'complete' && ending.readToEnd
  // A list that is much shorter by now may answer so, wherever the run before had come to.
  const isStuck = ending.error?.code === 'page-mismatch' && run.resumedFrom !== undefined && run.pages === 0
  const [, , hadLease] = await together(
    isWhole ? resolveRejects(session, run, nowMs) : endedWell(ending) ? resolveValid(session, run, nowMs) : LEFT_OUT,
    ending.status === 'complete' || isStuck ? forgetWindows(session, run.organization) : LEFT_OUT,
    releaseLease(session, run),
  )
  if (!hadLease) return report
  await together(
    // The list refers to rows that may not be there: the next run reads every record again.
    ending.error?.code === 'replaced' ? deleteRows(session, ['lists', 'list_columns'], run.organization) : LEFT_OUT,
    writeEnd(session, run, ending, report, shape),
    noteFilled(session, run),
  )
  return report
}

type Ended = ReturnType<typeof endedReport>

async function writeEnd(session: Session, run: Run, ending: Ending, report: Ended, { written }: Shape) {
  const { requests, throttled, waitedMs } = ending.source
  const json = (value: unknown) => (value === undefined ? null : storableJson(JSON.stringify(value)))
  await session.run(sql`
    UPDATE runs SET finished_at = ${sqlTime(report.finishedAtMs)}, duration_ms = ${report.durationMs}, status = ${ending.status},
      proof = ${ending.proof}, reasons = ${json(ending.reasons)}, certificate = ${json(ending.certificate)}, requests = ${requests},
      throttled = ${throttled}, waited_ms = ${waitedMs}, warnings = ${json(run.warnings)}, updated = updated + ${written},
      unchanged = unchanged - ${written}, missing = ${report.missing}, removed = ${report.removed}, held = ${report.held},
      searches_refused = ${report.searchesRefused}, trusted_pages = coalesce(${report.trustedPages}, trusted_pages),
      error_code = ${ending.error?.code}, error = ${ending.error === undefined ? null : storableText(ending.error.message)}
    WHERE id = ${run.id}`)
}

async function requireAddedUp(session: Session, run: Run, nowMs: number): Promise<void> {
  const [, stored] = await together(
    renewLease(session, run, nowMs),
    session.first<RecordCounts & { pages: number }>(sql`SELECT * FROM runs WHERE id = ${run.id}`),
  )
  if (stored?.pages !== run.pages) throw wentBack(run.organization)
  if (addsUp(stored) && addsUp(run.records)) return
  throw new AccountingBroken(
    `${run.organization}: the numbers of run ${run.id} do not add up. What it saved is kept, but it does not count as ` +
      'complete. This is a defect of Customer Mirror; please report it.',
  )
}

/** The ending of a run that found the shape of its data changed: its scan proves nothing about customers. */
function endingOf(asked: Ending, { changes, newFields }: Shape): Ending {
  const ending = newFields.length === 0 ? asked : { ...asked, certificate: { ...asked.certificate, newFields } }
  if (changes.length === 0) return ending
  return unproven({ ...ending, isWhole: false }, ['shape-changed'], { isWhole: false, shape: changes })
}

/** The ending of a run that proves nothing, for these reasons more; its certificate says what was found. */
function unproven(ending: Ending, because: readonly string[], found: object): Ending {
  const lost = { proof: 'unproven', reasons: [...ending.reasons, ...because] } as const
  return { ...ending, ...lost, readToEnd: false, certificate: { ...ending.certificate, ...lost, ...found } }
}

/** Stores what a run that read the list, or a part of it, says about the list and about absent customers. Other runs say nothing. */
async function concludeAbsences(session: Session, run: Run, ending: Ending, nowMs: number): Promise<Absences> {
  const { status, list, later } = ending
  if (!endedWell(ending)) return NO_ABSENCES
  if (status === 'partial') {
    const gone = await markGone(session, run, ending, nowMs)
    if (later === undefined || gone.held > 0) return gone
    // Customers that are absent and were not marked stay pending for the next partial run. One whose record was rejected is listed.
    const absent = await findListedBefore(session, run, [...later.pending, ...gone.unmarked])
    await storeLaterOrder(session, run.organization, { ...later, pending: absent.map(({ rowId }) => rowId) })
    return gone
  }
  await markReadBefore(session, run, nowMs)
  const [absences] = await together(
    markAbsent(session, run, ending, nowMs),
    list === undefined ? LEFT_OUT : storeList(session, run, list),
  )
  return absences
}

/** Resolves every open reject that a complete scan did not receive again. Each run that it continued has read a part of the list. */
async function resolveRejects(session: Session, { organization, id }: Run, nowMs: number) {
  await session.run(sql`
    UPDATE rejects SET resolved_at = ${sqlTime(nowMs)}
    WHERE organization = ${organization} AND resolved_at IS NULL AND run_id < ${firstOfScan(id)}`)
}

/** Resolves the open rejects of which a scan that proves nothing received the record as a customer, and not as a reject. */
async function resolveValid(session: Session, run: Run, nowMs: number) {
  const open = await session.all<{ reject_id: number; row_id: number; id: string }>(sql`
    SELECT reject_id, row_id, customers.id FROM rejects
    JOIN customers ON customers.organization = rejects.organization AND customers.id = record_key
    WHERE rejects.organization = ${run.organization} AND resolved_at IS NULL AND rejects.run_id < ${firstOfScan(run.id)}`)
  const valid = open.flatMap(({ reject_id, row_id, id }) =>
    run.seen.has(row_id) && !run.rejectedIds.has(id) ? [reject_id] : [],
  )
  if (valid.length > 0)
    await session.run(sql`UPDATE rejects SET resolved_at = ${sqlTime(nowMs)} WHERE ${isIn('reject_id', valid)}`)
}

/** `written`: customers who were as stored, but for a field that they have lost. */
function endedReport(run: Run, ending: Ending, { missing, removed, held, written }: Absences & Shape, nowMs: number) {
  const { organization, trigger, startedAtMs, records, pages, warnings, resumedFrom, readBefore, readAsOfMs } = run
  const { status, proof, reasons, source, error } = ending
  return {
    ...{ organization, trigger, startedAtMs, runId: run.id, status, proof, reasons: [...reasons] },
    ...{ ...records, updated: records.updated + written, unchanged: records.unchanged - written },
    ...{ ...source, pages, missing, removed, held, searchesRefused: ending.removals?.refused ?? 0 },
    ...{ warnings, resumedFrom, readBefore, readAsOfMs, error },
    // The wall clock may have been set back since.
    finishedAtMs: Math.max(nowMs, startedAtMs),
    durationMs: run.tookMs(nowMs),
    trustedPages: run.isPartial ? (ending.trustedPages ?? 0) : undefined,
  }
}
