import { describeError, factsOf, Interrupted, isOurs } from './errors.ts'
import { emptyReport, type Report, type Trigger } from './report.ts'
import type { Ending, RemovalRule, Run } from './run.ts'
import { holdOrganization } from './run/heartbeat.ts'
import { limitRun } from './run/max-run.ts'
import { readList, type ListSettings } from './run/read-list.ts'
import { searchForAbsent } from './run/search-absent.ts'
import type { Certificate } from './scan/certificate.ts'

export type { Progress } from './run/read-list.ts'

/** What a run needs to know. */
export type Mirroring = ListSettings & {
  trigger: Trigger
  /** How long the run may take; without it, as long as it takes. */
  maxRunMs?: number | undefined
  /** How old an interrupted scan may be for the run to go on from it. */
  resumeWithinMs: number
  /** When customers that are no longer listed are taken for removed. */
  removals: RemovalRule
  /** Between 0 and 1. Decides which customers are searched for, where there are too many to be removed. */
  random: () => number
  /** Aborting it finishes the pages under way, keeps them, and ends the run as interrupted. */
  signal: AbortSignal
  /** Whether the caller mirrors again by itself after this error; without it, a run that cannot go on has failed. */
  comesBack?: ((error: unknown, saved: { pages: number }) => boolean) | undefined
}

/** What a run did, and the error that ended it, for the caller to decide what follows. */
export type Outcome = { report: Report; error: unknown }

/**
 * Mirrors one organization: starts a run, reads the list window by window, saves it page by page, certifies what was read,
 * searches for customers before they are removed, and finishes the run. Never throws: a run that failed is recorded as such,
 * keeps what it had saved, and comes back with its error.
 */
export async function mirrorOrganization(mirroring: Mirroring): Promise<Outcome> {
  const { mirror, now, removals: rule } = mirroring
  const run = await startRun(mirroring).catch((error: unknown) => notStarted(mirroring, error))
  if ('report' in run) return run
  const lease = holdOrganization(mirror, run, now)
  const limit = limitRun(mirroring)
  try {
    const limits = { stop: limit.signal, abort: lease.lost, look: () => limit.look() }
    const { certificate, list } = await readList(mirroring, run, limits)
    const searched = await searchForAbsent(mirroring, run, certificate, AbortSignal.any([limit.signal, lease.lost]))
    const ending = { ...completed(certificate), list, removals: { rule, ...searched } }
    return { report: await finish(mirroring, run, ending), error: undefined }
  } catch (failure) {
    return await endEarly(mirroring, run, lease.lost.aborted ? lease.lost.reason : failure)
  } finally {
    limit.end()
    lease.stop()
  }
}

function startRun({ mirror, organization, trigger, scan, now, ...settings }: Mirroring): Promise<Run> {
  // A plain scan records no windows, and must not take those of another kind for its own.
  const resumeWithinMs = scan === 'chain' ? settings.resumeWithinMs : undefined
  return mirror.startRun({ organization, trigger, resumeWithinMs, nowMs: now(), monotonicMs: settings.monotonicMs })
}

function notStarted(mirroring: Mirroring, error: unknown): Outcome {
  return { report: unrecorded(mirroring, error), error }
}

function completed(certificate: Certificate): Omit<Ending, 'source'> {
  const { proof, reasons } = certificate
  const readToEnd = proof !== 'unproven' || reasons.every((reason) => reason === 'plain-scan')
  return { status: 'complete', proof, reasons, readToEnd, certificate }
}

/** Ends a run that did not read its list to the end. */
async function endEarly(mirroring: Mirroring, run: Run, failure: unknown): Promise<Outcome> {
  const { organization, signal } = mirroring
  const error = signal.aborted && !isOurs(failure) ? interrupted(organization) : failure
  const status = statusAfter(mirroring, error, run)
  const ending: Omit<Ending, 'source'> = {
    status,
    proof: 'unproven',
    reasons: [status],
    readToEnd: false,
    error: describeError(error),
  }
  // Where the mirror itself failed, the run stays open in it, and the next run of this organization closes it.
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
  return mirror.finishRun(run, { ...ending, source: { ...source.counters } }, now())
}

/** The report of a run that could not be recorded, or not to its end. */
function unrecorded({ organization, trigger, source, now }: Mirroring, error: unknown): Report {
  const reason = factsOf(error).from === 'other-run' ? 'held' : 'failed'
  const empty = emptyReport({ organization, trigger, startedAtMs: now() })
  return { ...empty, ...source.counters, reasons: [reason], error: describeError(error) }
}

function countsOf({ id, records, pages, resumedFrom, readBefore }: Run): Partial<Report> {
  return { ...records, runId: id, pages, resumedFrom, readBefore }
}

function interrupted(organization: string): Interrupted {
  return new Interrupted(`${organization}: stopped as asked. What was read so far is saved; sync again to go on.`)
}
