import { describeError, factsOf, Interrupted, isOurs } from './errors/errors.ts'
import { emptyReport, type Report, type Trigger } from './report.ts'
import type { QuickLimit } from './quick-limit.ts'
import type { Ending, RemovalRule, Retention, Run, Start } from './run.ts'
import { applyPrivacy } from './run/apply-privacy.ts'
import { applyRetention } from './run/apply-retention.ts'
import { keepLease } from './run/heartbeat.ts'
import { limitRun } from './run/max-run.ts'
import { readList, type ListSettings, type ReadingLimits } from './run/read-list.ts'
import type { readQuickly } from './run/read-quickly.ts'
import { searchForAbsent } from './run/searching/search-absent.ts'
import { serviceTimeMs } from './run/service-time.ts'
import { ageToResume } from './run/start-scan.ts'

export type { Progress } from './run/read-list.ts'

/** The settings of a run. */
export type Mirroring = ListSettings & {
  trigger: Trigger
  /** The most requests of a quick run; undefined for a run that reads the whole list. */
  quick?: QuickLimit | undefined
  /** How long the run may take; undefined means no limit. */
  maxRunMs?: number | undefined
  /** Which fields are not stored as sent; `unreadable` if its key cannot be read: then the source must not be read either. */
  privacy?: Start['privacy']
  /** When customers that are no longer listed count as removed. */
  removals: RemovalRule
  /** How long rows are kept; without it, for ever. */
  retention?: Retention | undefined
  /** A random number between 0 and 1. Chooses the sample of customers to search for, if too many are to be removed. */
  random: () => number
  /** Aborting it finishes and saves the current pages, and ends the run as interrupted. */
  signal: AbortSignal
  /** Whether the caller retries by itself after this error; the run is then `waiting` instead of `failed`. */
  comesBack?: ((error: unknown, saved: { pages: number }) => boolean) | undefined
}

/** The report of a run, and the error that ended it, from which the caller decides what to do. */
export type Outcome = { report: Report; error: unknown }

/**
 * Mirrors one organization: starts a run, hides what its privacy policy hides now and did not before, reads the list window by window,
 * saves it page by page, certifies the scan, searches for customers before they are removed, finishes the run, and deletes what is
 * older than the organization keeps it. Never throws: a failed run is recorded as failed, keeps
 * the rows it saved, and is returned with its error.
 */
export async function mirrorOrganization(mirroring: Mirroring): Promise<Outcome> {
  const run = await startRun(mirroring).catch((error: unknown) => ({ report: unrecorded(mirroring, error), error }))
  if ('report' in run) return run
  const outcome = await readAndFinish(mirroring, run)
  if (run.isQuick) return outcome
  const pruned = await applyRetention(mirroring, run)
  return pruned === undefined ? outcome : { ...outcome, report: { ...outcome.report, pruned } }
}

async function readAndFinish(mirroring: Mirroring, run: Run): Promise<Outcome> {
  const { mirror, now } = mirroring
  const lease = keepLease(mirror, run, now)
  const limit = limitRun(mirroring)
  try {
    const limits = { stop: limit.signal, abort: lease.lost, look: () => limit.look() }
    await applyPrivacy(mirroring, run, limits)
    const { quick } = mirroring
    const ending = await (quick === undefined
      ? readWhole(mirroring, run, limits)
      : readPart({ ...mirroring, quick }, run, limits))
    return { report: await finish(mirroring, run, ending), error: undefined }
  } catch (failure) {
    return await endEarly(mirroring, run, lease.lost.aborted ? lease.lost.reason : failure)
  } finally {
    limit.end()
    lease.stop()
  }
}

async function readWhole(mirroring: Mirroring, run: Run, limits: ReadingLimits): Promise<Omit<Ending, 'source'>> {
  const { certificate, ...read } = await readList(mirroring, run, limits)
  const searched = await searchForAbsent(mirroring, run, certificate, AbortSignal.any([limits.stop, limits.abort]))
  const removals = { rule: mirroring.removals, ...searched }
  const { proof, reasons } = certificate
  return { status: 'complete', proof, reasons, certificate, ...read, removals }
}

/** Loaded only for a quick run. */
async function readPart(...reading: Parameters<typeof readQuickly>): Promise<Omit<Ending, 'source'>> {
  const quick = await import('./run/read-quickly.ts')
  return quick.readQuickly(...reading)
}

function startRun(mirroring: Mirroring): Promise<Run> {
  const { mirror, organization, trigger, quick, privacy, now, monotonicMs } = mirroring
  return mirror.startRun({
    organization,
    trigger,
    resumeWithinMs: ageToResume(mirroring),
    isQuick: quick !== undefined,
    privacy,
    nowMs: now(),
    monotonicMs,
  })
}

/** Ends a run that did not read its list to the end. */
async function endEarly(mirroring: Mirroring, run: Run, failure: unknown): Promise<Outcome> {
  const { organization, signal } = mirroring
  const error = signal.aborted && !isOurs(failure) ? stopOf(organization, signal) : failure
  const status = statusAfter(mirroring, error, run)
  const ending: Omit<Ending, 'source'> = {
    status,
    proof: 'unproven',
    reasons: [status],
    readToEnd: false,
    error: describeError(error),
  }
  // If the mirror itself failed, the run stays open in it, and the next run of this organization closes it.
  const report = await finish(mirroring, run, ending).catch(() => ({
    ...unrecorded(mirroring, error),
    ...countsOf(run),
  }))
  return { report, error }
}

function statusAfter({ comesBack }: Mirroring, error: unknown, { pages }: Run): 'interrupted' | 'waiting' | 'failed' {
  const { from } = factsOf(error)
  if (from === 'stop' || from === 'limit') return 'interrupted'
  return comesBack?.(error, { pages }) === true ? 'waiting' : 'failed'
}

function finish({ mirror, source, now }: Mirroring, run: Run, ending: Omit<Ending, 'source'>): Promise<Report> {
  const serviceMs = serviceTimeMs({ source, now })
  return mirror.finishRun(run, { ...ending, serviceMs, source: { ...source.counters } }, now())
}

/** The report of a run that could not be recorded, or not completely. */
function unrecorded({ organization, trigger, source, now }: Mirroring, error: unknown): Report {
  const reason = factsOf(error).from === 'other-run' ? 'held' : 'failed'
  const empty = emptyReport({ organization, trigger, startedAtMs: now() })
  return { ...empty, ...source.counters, reasons: [reason], error: describeError(error) }
}

function countsOf({ id, records, pages, resumedFrom, readBefore }: Run): Partial<Report> {
  return { ...records, runId: id, pages, resumedFrom, readBefore }
}

/** The error of a run that was stopped: the reason of the stop, if it is one of ours. */
function stopOf(organization: string, { reason }: AbortSignal): Error {
  if (isOurs(reason)) return reason
  return new Interrupted(`${organization}: stopped as asked. The rows read so far are saved; sync again to continue.`)
}
