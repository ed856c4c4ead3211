import type { LaterOrder } from '../../../list/later-order.ts'
import type { Ending, Run, Start } from '../../../run.ts'
import { endedWell, type RecordCounts, type Report } from '../../../report.ts'
import type { Connection } from '../opening/database.ts'
import { fingerprintKey } from '../fingerprint-key.ts'
import { fingerprintOfRun } from '../../fingerprint-of-run.ts'
import { createIdIndex, isFirstOfAll, readWithoutIdIndex } from './id-index.ts'
import { loadForgotten } from '../forget/forgotten.ts'
import { hasReadToEnd, READ_TO_END } from '../../sql/run-conditions.ts'
import { changedRows, doubtedRows, forgetList, lastEdit, loadList, storeLaterOrder, storeList } from './lists.ts'
import { ABANDONED, isListInDoubt } from '../../mirror-errors.ts'
import { releaseLease, renewLease, takeLease } from './lease.ts'
import { noteFilled, startPrivacy } from '../privacy/privacy.ts'
import { resolveRejects, resolveValid } from './rejects.ts'
import { endingWith, NO_ABSENCES, type Absences } from '../../rules/absences-found.ts'
import { markAbsent } from '../removals/mark-absent.ts'
import { markGone } from '../removals/mark-gone.ts'
import { markListed } from '../removals/quick-runs-meanwhile.ts'
import { findListedBefore } from '../removals/find-absent.ts'
import { findHeldRows } from '../removals/removals.ts'
import { endRetirement } from '../organizations/retirement.ts'
import { findResumable } from './resume.ts'
import { RowSet } from '../../../list/row-set.ts'
import { requireSum } from '../../pages/page-accounting.ts'
import { reportOf, reportWith } from '../../report-of-run.ts'
import { fromSqlTime, sqlTime } from '../../sql/sql-time.ts'
import { countSeen, startedRun } from '../../started-run.ts'
import { statement } from '../statement.ts'
import { forgetWindows, inheritWindows, recallSeen } from './windows.ts'

/**
 * Starts a run, after marking abandoned runs as interrupted. Continues the last run if it was interrupted recently enough. The caller
 * holds the transaction.
 */
export function startRun(db: Connection, start: Start, holder: string): Run {
  const { organization, trigger, nowMs, monotonicMs } = start
  const isBaseline = !hasBaseline(db, organization)
  // First of all: it may forget the windows to continue from, and the list.
  const privacy = startPrivacy(db, start)
  const isQuick = start.isQuick === true
  const resumable = isQuick ? undefined : findResumable(db, start)
  const readAsOfMs = resumable === undefined ? nowMs : fromSqlTime(resumable.read_as_of)
  const { lastInsertRowid } = statement(
    db,
    `INSERT INTO runs (organization, "trigger", started_at, read_as_of, resumed_from, trusted_pages, status)
     VALUES (?, ?, ?, ?, ?, ?, 'running')`,
  ).run(organization, trigger, sqlTime(nowMs), sqlTime(readAsOfMs), resumable?.id ?? null, isQuick ? 0 : null)
  const id = Number(lastInsertRowid)
  takeLease(db, { organization, id }, holder, { nowMs, monotonicMs: monotonicMs?.() })
  closeAbandoned(db, { organization, but: id }, nowMs)
  if (!isQuick) {
    endRetirement(db, organization)
    // The windows of the run that this one continues, or those that nothing continues.
    if (resumable === undefined) forgetWindows(db, organization)
    else inheritWindows(db, resumable.id, id)
  }
  const list = loadList(db, organization)
  const isFirst = isBaseline && !isQuick && isFirstOfAll(db, organization)
  if (!isFirst) createIdIndex(db)
  const received = recallSeen(db, { id, list })
  const readBefore = countSeen(received)
  if (readBefore > 0) statement(db, 'UPDATE runs SET read_before = ? WHERE id = ?').run(readBefore, id)
  const run = startedRun(start, {
    ...{ id, readAsOfMs, resumedFrom: resumable?.id, readBefore, isBaseline },
    ...received,
    forgotten: loadForgotten(db, organization),
    heldRows: findHeldRows(db, organization),
    list,
    fingerprint: fingerprintOfRun(fingerprintKey(db), privacy),
    doubted: doubtedRows(db, organization),
    changedSince: isQuick ? new RowSet() : changedRows(db, organization),
    lastEdit: lastEdit(db),
    privacy,
  })
  if (isFirst) readWithoutIdIndex(db, run)
  return run
}

/** Marks the runs of an organization that never ended as interrupted, except the one that is under way. */
export function closeAbandoned(
  db: Connection,
  { organization, but = 0 }: { organization: string; but?: number },
  nowMs: number,
): void {
  statement(
    db,
    `UPDATE runs SET status = 'interrupted', finished_at = max(?, started_at), reasons = '["interrupted"]', error_code = 'interrupted',
       error = '${ABANDONED}'
     WHERE organization = ? AND status = 'running' AND id <> ?`,
  ).run(sqlTime(nowMs), organization, but)
}

/**
 * Ends a run and releases its lease. The caller holds the transaction. A run cannot be complete or partial if it lost its lease to
 * another one (throws OrganizationLeased), or if its stored numbers do not add up (throws AccountingBroken). A run that failed
 * after it lost its lease changes nothing.
 */
export function finishRun(db: Connection, run: Run, asked: Ending, nowMs: number): Report {
  const counted = reportOf(run, asked, nowMs)
  const absences = concludeAbsences(db, run, asked, nowMs)
  const ending = endingWith(asked, absences)
  const report = reportWith(counted, ending, absences)
  if (ending.status === 'complete' && ending.readToEnd) resolveRejects(db, run, nowMs)
  else if (endedWell(ending)) resolveValid(db, run, nowMs)
  if (hasReadToEnd(ending)) noteFilled(db, run)
  if (ending.status === 'complete') forgetWindows(db, run.organization)
  if (!releaseLease(db, run)) return report
  if (isListInDoubt(ending.error)) forgetList(db, run.organization)
  statement(
    db,
    `UPDATE runs SET finished_at = @finishedAt, duration_ms = @durationMs, status = @status, proof = @proof, reasons = @reasons,
       certificate = @certificate,
       requests = @requests, throttled = @throttled, waited_ms = @waitedMs, warnings = @warnings,
       missing = @missing, removed = @removed, held = @held, trusted_pages = coalesce(@trustedPages, trusted_pages),
       error_code = @errorCode, error = @errorMessage
     WHERE id = @id`,
  ).run({
    ...ending.source,
    id: run.id,
    finishedAt: sqlTime(report.finishedAtMs ?? nowMs),
    durationMs: report.durationMs,
    status: ending.status,
    proof: ending.proof,
    reasons: JSON.stringify(ending.reasons),
    certificate: ending.certificate === undefined ? null : JSON.stringify(ending.certificate),
    warnings: JSON.stringify(run.warnings),
    missing: report.missing,
    removed: report.removed,
    held: report.held,
    trustedPages: report.trustedPages ?? null,
    errorCode: ending.error?.code ?? null,
    errorMessage: ending.error?.message ?? null,
  })
  return report
}

/** Stores what a run that read the list, or a part of it, says about the list and about absent customers. Other runs say nothing. */
function concludeAbsences(db: Connection, run: Run, ending: Ending, nowMs: number): Absences {
  const { status, list, later } = ending
  if (!endedWell(ending)) return NO_ABSENCES
  renewLease(db, run, nowMs)
  requireSum(run, statement<[number], RecordCounts>(db, 'SELECT * FROM runs WHERE id = ?').get(run.id))
  if (status === 'partial') {
    const gone = markGone(db, run, ending, nowMs)
    if (later !== undefined && gone.held === 0) keepLaterOrder(db, run, later, gone.unmarked)
    return gone
  }
  if (list !== undefined) storeList(db, run, list)
  markListed(db, run, nowMs)
  return markAbsent(db, run, ending, nowMs)
}

/**
 * Customers that are absent and were not marked stay pending for the next quick run. A customer whose record was rejected has no row in
 * the order, and is listed.
 */
function keepLaterOrder(db: Connection, run: Run, later: LaterOrder, unmarked: readonly number[]): void {
  const pending = [...later.pending, ...unmarked].filter((rowId) => findListedBefore(db, run, rowId) !== undefined)
  storeLaterOrder(db, run.organization, { ...later, pending })
}

function hasBaseline(db: Connection, organization: string): boolean {
  return (
    statement(db, `SELECT 1 FROM runs WHERE organization = ? AND ${READ_TO_END} LIMIT 1`).get(organization) !==
    undefined
  )
}
