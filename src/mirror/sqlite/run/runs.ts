import type { LaterOrder } from '../../../list/later-order.ts'
import type { Ending, Run, Start, Removals, RemovingProof } from '../../../run.ts'
import { endedWell, type RecordCounts, type Report } from '../../../report.ts'
import type { Connection } from '../opening/database.ts'
import { fingerprintKey } from '../fingerprint-key.ts'
import { fingerprintOfRun } from '../../fingerprint-of-run.ts'
import { createIdIndex, isFirstOfAll, readWithoutIdIndex } from './id-index.ts'
import { loadForgotten } from '../forget/forgotten.ts'
import { hasReadToEnd, READ_TO_END } from '../../sql/run-conditions.ts'
import { changedRows, doubtedRows, forgetList, lastEdit, loadList, storeLaterOrder, storeList } from './lists.ts'
import { ABANDONED, isListInDoubt, rowsGone } from '../../mirror-errors.ts'
import { releaseLease, renewLease, takeLease } from './lease.ts'
import { noteFilled, startPrivacy } from '../privacy/privacy.ts'
import { resolveRejects, resolveValid } from './rejects.ts'
import { endingWith, NO_ABSENCES, type Absences, NONE_GONE, type Gone, absencesOf } from '../../rules/absences-found.ts'
import { markListed } from '../removals/quick-runs-meanwhile.ts'
import { findListedBefore, areTooManyAbsent, findAbsent, holdsReceived } from '../removals/find-absent.ts'
import { findHeldRows, holdBack, release, remove } from '../removals/removals.ts'
import { endRetirement } from '../organizations/retirement.ts'
import { RowSet } from '../../../list/row-set.ts'
import { requireSum } from '../../pages/page-accounting.ts'
import { reportOf, reportWith } from '../../report-of-run.ts'
import { fromSqlTime, sqlTime } from '../../sql/sql-time.ts'
import { countSeen, startedRun } from '../../started-run.ts'
import { statement } from '../statement.ts'
import { forgetWindows, inheritWindows, recallSeen } from './windows.ts'
import { markMissing, markRowListed } from '../removals/absences.ts'
import { findUnjudged } from '../removals/older-list.ts'
import { mayContinue, REACHED_LIMIT, type RunWithWindows } from '../../rules/resume-rule.ts'
import { decideAbsences, type Decision } from '../../rules/removal-rule.ts'

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

/**
 * Marks customers that a quick run found absent as missing. That is counted as no absence, and removes no customer: only full runs
 * do. The newest customers alone are not marked, since the list may be older than the last one read.
 */
function markGone(
  db: Connection,
  run: Run,
  { absentRows = [], openAbsences = 0, removals, serviceMs }: Ending,
  nowMs: number,
): Gone {
  const gone = absentRows.flatMap((rowId) => findListedBefore(db, run, rowId) ?? [])
  if (gone.length === 0 || removals === undefined) return NONE_GONE
  const absent = gone.length + openAbsences
  if (areTooManyAbsent(db, run, { absent }, removals.rule)) return { ...NONE_GONE, held: absent }
  const unjudged = findUnjudged(db, run, gone, serviceMs)
  const missing = gone.filter(({ rowId }) => !unjudged.has(rowId)).map((row) => ({ row, isCounted: false }))
  markMissing(db, run, missing, { isProven: false, nowMs })
  const reasons = unjudged.size > 0 ? (['older-list'] as const) : []
  return { ...NONE_GONE, missing: missing.length, reasons, unmarked: [...unjudged] }
}

/** The last run that recorded windows, if it ended before its list did, and recently enough. */
function findResumable(db: Connection, start: Start): RunWithWindows | undefined {
  const last = statement<[string], RunWithWindows>(
    db,
    `SELECT id, read_as_of, status, error_code FROM runs
     WHERE organization = ? AND EXISTS (SELECT 1 FROM windows WHERE run_id = runs.id) ORDER BY id DESC LIMIT 1`,
  ).get(start.organization)
  return last !== undefined && mayContinue(last, findLimitAt(db, last.id), start) ? last : undefined
}

/** The end of the last run that a run goes back to, itself included, and that reached a limit. */
function findLimitAt(db: Connection, id: number): string | null | undefined {
  return statement<[number], string | null>(
    db,
    `WITH RECURSIVE chain (id, resumed_from, error_code, finished_at) AS (
       SELECT id, resumed_from, error_code, finished_at FROM runs WHERE id = ?
       UNION ALL SELECT runs.id, runs.resumed_from, runs.error_code, runs.finished_at
       FROM runs JOIN chain ON runs.id = chain.resumed_from
     )
     SELECT MAX(finished_at) FROM chain WHERE error_code IN ${REACHED_LIMIT}`,
  )
    .pluck()
    .get(id)
}

/**
 * Marks absent customers of a proven scan as missing, and those absent often enough as removed. After a settled or converged scan,
 * only customers with a `confirmed` absence are removed. Too many removals at once are held back, and then no customer is marked. If a
 * search found one of them, or exactly the newest customers are absent, the scan loses its proof and no customer is marked. Throws
 * MirrorUnusable `replaced` where customers that the run received are not in the mirror.
 */
function markAbsent(db: Connection, run: Run, { proof, removals, serviceMs }: Ending, nowMs: number): Absences {
  if (proof === 'unproven' || removals === undefined) {
    if (!holdsReceived(db, run)) throw rowsGone(run.organization)
    return NO_ABSENCES
  }
  return markBy(db, run, { ...removals, proof, serviceMs }, nowMs)
}

function markBy(
  db: Connection,
  run: Run,
  { proof, rule, serviceMs, ...searched }: Removals & { proof: RemovingProof } & Pick<Ending, 'serviceMs'>,
  nowMs: number,
): Absences {
  const found = findAbsent(db, run)
  if (found === undefined) throw rowsGone(run.organization)
  const { absent, notRemoved } = found
  if (absent.length === 0) return NO_ABSENCES
  const unjudged = findUnjudged(db, run, absent, serviceMs)
  const isTooMuch = areTooManyAbsent(db, run, { absent: absent.length, notRemoved }, rule)
  return carryOut(db, run, decideAbsences({ absent, unjudged, proof, rule, searched, isTooMuch }), { proof, nowMs })
}

function carryOut(
  db: Connection,
  run: Run,
  decision: Decision,
  { proof, nowMs }: { proof: RemovingProof; nowMs: number },
): Absences {
  const { listed, held, missing } = decision
  for (const { rowId } of listed) {
    markRowListed(db, rowId, nowMs)
    release(db, rowId)
  }
  if (held !== undefined) holdBack(db, run, held)
  markMissing(db, run, missing, { isProven: proof === 'proven', nowMs })
  for (const { row, isRemoved } of missing) if (isRemoved) remove(db, run, row, nowMs)
  return absencesOf(decision)
}
