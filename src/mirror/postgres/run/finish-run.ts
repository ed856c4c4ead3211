import type { LaterOrder } from '../../../list/later-order.ts'
import type { Ending, Run } from '../../../run.ts'
import { endedWell, type RecordCounts, type Report } from '../../../report.ts'
import { endingWith, NO_ABSENCES, type Absences } from '../../rules/absences-found.ts'
import { firstOfScan, openBefore } from '../../sql/open-rejects.ts'
import { requireSum } from '../../pages/page-accounting.ts'
import { hasReadToEnd } from '../../sql/run-conditions.ts'
import { reportOf, reportWith } from '../../report-of-run.ts'
import { isListInDoubt } from '../../mirror-errors.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { HELD, HOLDER, renewLease } from './lease.ts'
import { storeLaterOrder, storeList } from './lists.ts'
import { findListedBefore } from '../removals/find-absent.ts'
import { markAbsent, markGone } from '../removals/mark-absent.ts'
import { markListed } from '../removals/quick-runs-meanwhile.ts'
import type { Session } from '../session.ts'
import { storableJson, storableText } from '../../../storable-text.ts'
import { writeTogether, type NamedPart, type Part } from '../together.ts'
import { requirePages } from './went-back.ts'
import { FORGET_WINDOWS } from './windows.ts'

/**
 * Ends a run and releases its lease. The caller holds the transaction. A run cannot be complete or partial if it lost its lease to
 * another one (throws OrganizationLeased), or if its stored numbers do not add up (throws AccountingBroken). A run that failed
 * after it lost its lease changes nothing.
 */
export async function finishRun(session: Session, run: Run, asked: Ending, nowMs: number): Promise<Report> {
  const counted = reportOf(run, asked, nowMs)
  const absences = await concludeAbsences(session, run, asked, nowMs)
  const ending = endingWith(asked, absences)
  const report = reportWith(counted, ending, absences)
  const isRead = ending.status === 'complete' && ending.readToEnd
  if (endedWell(ending) && !isRead) await resolveValid(session, run, nowMs)
  await endRun(session, run, { ending, report, nowMs })
  return report
}

/** Stores what a run that read the list, or a part of it, says about the list and about absent customers. Other runs say nothing. */
async function concludeAbsences(session: Session, run: Run, ending: Ending, nowMs: number): Promise<Absences> {
  const { status, list, later } = ending
  if (!endedWell(ending)) return NO_ABSENCES
  await renewLease(session, run)
  const stored = await session.first<RecordCounts & { pages: number }>('SELECT * FROM runs WHERE id = $1', run.id)
  requirePages(stored?.pages, run.pages, run)
  requireSum(run, stored)
  if (status === 'partial') {
    const gone = await markGone(session, run, ending, nowMs)
    if (later !== undefined && gone.held === 0) await keepLaterOrder(session, run, later, gone.unmarked)
    return gone
  }
  if (list !== undefined) await storeList(session, run, list)
  await markListed(session, run, nowMs)
  return await markAbsent(session, run, ending, nowMs)
}

/**
 * Customers that are absent and were not marked stay pending for the next quick run. A customer whose record was rejected has no row in
 * the order, and is listed.
 */
async function keepLaterOrder(
  session: Session,
  run: Run,
  later: LaterOrder,
  unmarked: readonly number[],
): Promise<void> {
  const absent = await findListedBefore(session, run, [...later.pending, ...unmarked])
  await storeLaterOrder(session, run.organization, { ...later, pending: absent.map(({ rowId }) => rowId) })
}

type Ended = { ending: Ending; report: Report; nowMs: number }

/** Releases the lease, if the run still holds it, and only then writes how the run ended. One statement. */
async function endRun(session: Session, run: Run, { ending, report, nowMs }: Ended): Promise<void> {
  const isComplete = ending.status === 'complete'
  const isRead = isComplete && ending.readToEnd
  const named: NamedPart[] = [
    ['resolved', resolving(run, nowMs), isRead],
    [
      'filled',
      { sql: FILL, parameters: [run.organization] },
      hasReadToEnd(ending) && (run.privacy?.unfilled.length ?? 0) > 0,
    ],
    ['forgotten', { sql: FORGET_WINDOWS, parameters: [run.organization] }, isComplete],
    ['unlisted', { sql: FORGET_LIST, parameters: [run.organization, run.id, HOLDER] }, isListInDoubt(ending.error)],
    ['released', { sql: RELEASE_LEASE, parameters: [run.organization, run.id, HOLDER] }, true],
  ]
  await writeTogether(session, named, rowOf(run, { ending, report, nowMs }))
}

/** Every value that could be filled in is there. */
const FILL = `UPDATE privacy_policies SET unfilled = '[]' WHERE organization = $1`

/** Unless another run took over. */
const FORGET_LIST = `DELETE FROM lists WHERE organization = $1
  AND EXISTS (SELECT FROM leases WHERE ${HELD})`

const RELEASE_LEASE = `DELETE FROM leases WHERE ${HELD} RETURNING run_id`

/**
 * Resolves every open reject that a complete scan did not receive again. If the run continued others, each of them has read a
 * part of the list.
 */
function resolving({ organization, id }: Run, nowMs: number): Part {
  return {
    sql: `UPDATE rejects SET resolved_at = $3::timestamptz
      WHERE organization = $1 AND resolved_at IS NULL AND run_id < ${firstOfScan('$2')}`,
    parameters: [organization, id, sqlTime(nowMs)],
  }
}

/** Resolves the open rejects of which a scan that proves nothing received the record as a customer, and not as a reject. */
async function resolveValid(session: Session, run: Run, nowMs: number): Promise<void> {
  const open = await session.all<{ reject_id: number; row_id: number; id: string }>(
    openBefore('$1', '$2'),
    run.organization,
    run.id,
  )
  const valid = open.filter(({ row_id, id }) => run.seen.has(row_id) && !run.rejectedIds.has(id))
  if (valid.length === 0) return
  await session.run(
    'UPDATE rejects SET resolved_at = $2::timestamptz WHERE organization = $1 AND reject_id = ANY ($3::bigint[])',
    run.organization,
    sqlTime(nowMs),
    valid.map(({ reject_id }) => reject_id),
  )
}

function rowOf(run: Run, { ending, report, nowMs }: Ended): Part {
  const { requests, throttled, waitedMs } = ending.source
  return {
    sql: `UPDATE runs SET finished_at = $2::timestamptz, duration_ms = $3, status = $4, proof = $5, reasons = $6::json,
        certificate = $7::json, requests = $8, throttled = $9, waited_ms = $10, warnings = $11::json,
        missing = $12, removed = $13, held = $14, trusted_pages = coalesce($15, trusted_pages), error_code = $16, error = $17
      WHERE id = $1 AND EXISTS (SELECT 1 FROM released)`,
    parameters: [
      run.id,
      sqlTime(report.finishedAtMs ?? nowMs),
      report.durationMs,
      ending.status,
      ending.proof,
      storableJson(JSON.stringify(ending.reasons)),
      ending.certificate === undefined ? null : storableJson(JSON.stringify(ending.certificate)),
      requests,
      throttled,
      waitedMs,
      JSON.stringify(run.warnings),
      report.missing,
      report.removed,
      report.held,
      report.trustedPages ?? null,
      ending.error?.code ?? null,
      ending.error === undefined ? null : storableText(ending.error.message),
    ],
  }
}
