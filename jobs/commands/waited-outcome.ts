import { isErrorCode } from '../../src/errors/error-facts.ts'
import { Cancelled, QueueUnavailable, reportedError } from '../../src/errors/errors.ts'
import type { Outcome } from '../../src/mirror-organization.ts'
import { emptyReport, type Report } from '../../src/report.ts'
import type { Counts } from '../queue/queues.ts'
import { countsOf, failedWith, reasonOf } from '../run/run-for-job.ts'
import type { JobEnd } from './wait-for-job.ts'

/**
 * The outcome of a job that another process ran. `from` says where its report comes from: the `mirror` on this machine, or only the
 * numbers or the reason that the `queue` keeps. `none-needed`: the job ended without a run, because the list was read since it
 * was due. `no-quick-run`: none could be made.
 */
export type WaitedOutcome = { outcome: Outcome; from: 'mirror' | 'queue' | 'none-needed' | 'no-quick-run' }

export type EndedJob = {
  organization: string
  isQuick: boolean
  end: Exclude<JobEnd, { end: 'left' }>
  isCancelled: boolean
  /** The latest runs of the organization in the mirror of this machine that ended after the request, newest first. */
  runs: readonly Report[]
  nowMs: number
}

/** The run of an ended job: as the mirror has it if that is on this machine, otherwise as the queue has it. */
export function waitedOutcome(ended: EndedJob): WaitedOutcome {
  const { organization, end, isCancelled, runs, nowMs } = ended
  if (end.end === 'completed') return completed(ended, end.counts)
  if (end.end === 'lost') {
    const last = runs.find(({ trustedPages }) => trustedPages === undefined)
    if (last !== undefined && !isCancelled) return { outcome: { report: last, error: errorOf(last) }, from: 'mirror' }
    const error = isCancelled ? cancelled(organization) : lost(organization)
    return { outcome: failedWith(organization, error, nowMs), from: 'queue' }
  }
  const run = runs.find((report) => report.error !== undefined && isReasonOf(end.reason, report))
  if (run !== undefined) return { outcome: { report: run, error: errorOf(run) }, from: 'mirror' }
  return { outcome: failedWith(organization, errorFrom(organization, end.reason), nowMs), from: 'queue' }
}

function completed({ organization, isQuick, runs, nowMs }: EndedJob, counts: Counts): WaitedOutcome {
  const isEmpty = Object.keys(counts).length === 0
  const run = runs.find((report) => report.error === undefined && isSame(counts, countsOf(report)))
  if (run !== undefined) return { outcome: { report: run, error: undefined }, from: 'mirror' }
  const report: Report = {
    ...emptyReport({ organization, trigger: 'manual', startedAtMs: nowMs }),
    ...counts,
    status: 'complete',
  }
  return { outcome: { report, error: undefined }, from: isEmpty ? (isQuick ? 'no-quick-run' : 'none-needed') : 'queue' }
}

/** Whether all numbers agree. Durations are rounded in the mirror. */
function isSame(counts: Counts, others: Counts): boolean {
  return Object.keys(others).every((key) => key === 'durationMs' || key === 'waitedMs' || counts[key] === others[key])
}

function isReasonOf(reason: string, report: Report): boolean {
  return reasonOf({ report, error: errorOf(report) }) === reason
}

function errorOf({ error }: Report): Error | undefined {
  return error && reportedError(error)
}

/** The error of a run that only the queue reports, as `code: message`; the queue gives up jobs too, in its own words. */
function errorFrom(organization: string, reason: string): Error {
  const [code = ''] = reason.split(': ', 1)
  if (isErrorCode(code)) return reportedError({ code, message: reason.slice(code.length + 2) })
  if (code === 'unexpected')
    return new Error(`${organization}: its run failed unexpectedly. See the log of its worker.`)
  return new QueueUnavailable(`${organization}: the queue gave up its job (${reason}). See the log of its worker.`)
}

function lost(organization: string): QueueUnavailable {
  return new QueueUnavailable(
    `${organization}: its job is no longer in the queue, and no run since then has ended here. Request it again.`,
  )
}

function cancelled(organization: string): Cancelled {
  return new Cancelled(`${organization}: its job was cancelled before it was started.`)
}
