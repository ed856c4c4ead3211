import { ContractBroken, describeError, factsOf, Interrupted, isOurs, MaxRunReached } from '../errors/errors.ts'
import { emptyReport, removingProof, type Report, type Trigger, nothingPruned, type Pruned } from '../model/report.ts'
import type { Ending, RemovalRule, Retention, Run, Searched, Start } from '../model/run.ts'
import { readList, type ListSettings, type ReadingLimits } from './read-list.ts'
import type { QuickLimit } from '../quick/read-quickly.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Mirror } from '../store/mirror.ts'
import type { Source } from '../source/customers.ts'
import { duration } from '../text/wording.ts'
import type { Certificate } from '../scan/scan.ts'
import { confirmAbsences, MOST_CONTROLS } from './confirm-absences.ts'

export type Mirroring = ListSettings & {
  trigger: Trigger
  /** How old an interrupted scan may be and still be continued. */
  resumeWithinMs: number
  /** The most requests of a quick run; undefined for a run that reads the whole list. */
  requestLimit?: QuickLimit | undefined
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
 * Mirrors one organization: hides what its privacy policy hides now and did not before, reads the list window by window, saves it page by page,
 * certifies the scan, searches for customers before they are removed, and deletes what is older than it is kept. Never throws: a failed run is
 * recorded as failed, keeps the rows it saved, and is returned with its error.
 */
export async function mirrorOrganization(mirroring: Mirroring): Promise<Outcome> {
  const run = await startRun(mirroring).catch((error: unknown) => ({ report: unrecorded(mirroring, error), error }))
  if ('report' in run) return run
  const outcome = await readAndFinish(mirroring, run)
  if (run.isPartial) return outcome
  const pruned = await applyRetention(mirroring, run)
  return pruned === undefined ? outcome : { ...outcome, report: { ...outcome.report, pruned } }
}

async function readAndFinish(mirroring: Mirroring, run: Run): Promise<Outcome> {
  const limits = limitRun(mirroring, run)
  try {
    await applyPrivacy(mirroring, run, limits)
    const { requestLimit } = mirroring
    const ending = await (requestLimit === undefined
      ? readWhole(mirroring, run, limits)
      : (await import('../quick/read-quickly.ts')).readQuickly({ ...mirroring, requestLimit }, run, limits))
    return { report: await finish(mirroring, run, ending), error: undefined }
  } catch (failure) {
    return await endEarly(mirroring, run, limits.lost.aborted ? limits.lost.reason : failure)
  } finally {
    limits.end()
  }
}

async function readWhole(mirroring: Mirroring, run: Run, limits: ReadingLimits): Promise<Omit<Ending, 'source'>> {
  const { certificate, ...read } = await readList(mirroring, run, limits)
  if (run.isBaseline) refuseRejects(run)
  const searched = await searchForAbsent(mirroring, run, certificate, limits.stop)
  const removals = { rule: mirroring.removals, ...searched }
  const { proof, reasons, isWhole } = certificate
  return { status: 'complete', proof, reasons, isWhole, certificate, ...read, removals }
}

/** Throws ContractBroken where most records of an initial sync are no customers: then nothing is known of the list. */
function refuseRejects({ organization, records, seen, rejectedIds }: Run): void {
  // A record without a readable id is counted whenever it comes.
  const isMost = rejectedIds.size > seen.size || records.rejected > records.received / 2
  if (!isMost) return
  throw new ContractBroken(
    `${organization}: ${records.rejected} of ${records.received} records are no customers. What could be read is kept; 'customer-mirror rejects' shows ` +
      'the others with their reasons.',
    { code: 'bad-answer' },
  )
}

function startRun(mirroring: Mirroring): Promise<Run> {
  const { mirror, organization, trigger, requestLimit, privacy, now, monotonicMs, scan, resumeWithinMs } = mirroring
  return mirror.startRun({
    ...{ organization, trigger, privacy, monotonicMs },
    // A plain scan records no windows, and those of a chain scan are not its own.
    resumeWithinMs: scan === 'chain' ? resumeWithinMs : undefined,
    isPartial: requestLimit !== undefined,
    nowMs: now(),
  })
}

async function endEarly(mirroring: Mirroring, run: Run, failure: unknown): Promise<Outcome> {
  const { organization, signal } = mirroring
  const error = signal.aborted && !isOurs(failure) ? stopOf(organization, signal) : failure
  const status = statusAfter(mirroring, error, run)
  const unread = { proof: 'unproven', readToEnd: false } as const
  const ending = { ...unread, status, reasons: [status], error: describeError(error) }
  // If the mirror itself failed, the run stays open in it, and the next run of this organization closes it.
  const report = await finish(mirroring, run, ending).catch(() => {
    const { id: runId, records, pages, resumedFrom, readBefore } = run
    return { ...unrecorded(mirroring, error), ...records, runId, pages, resumedFrom, readBefore }
  })
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

/** The error of a run that was stopped: the reason of the stop, if it is one of ours. */
function stopOf(organization: string, { reason }: AbortSignal): Error {
  if (isOurs(reason)) return reason
  return new Interrupted(`${organization}: stopped as asked. The rows read so far are saved; sync again to continue.`)
}

/** Rewrites what is stored under another privacy policy. What is done is kept if it is stopped, and the next run goes on from there. */
async function applyPrivacy({ mirror, now }: Mirroring, run: Run, limits: ReadingLimits): Promise<void> {
  while (await mirror.applyPrivacy(run, now())) {
    limits.look()
    // The lease is renewed and signals arrive between two steps.
    await nextTurn()
    limits.stop.throwIfAborted()
  }
}

/** How often a waiting run renews its lease. */
const HEARTBEAT_MS = 15_000

/**
 * Renews the lease of a run and limits its time, until `end` is called. `stop` is aborted by the signal of the run, at the end of its time, and
 * once its lease is lost. `lost` is aborted by the last of these alone. No timer fires while the machine sleeps: `look` looks at the clock.
 */
function limitRun({ mirror, organization, maxRunMs, now, monotonicMs, signal }: Mirroring, run: Run) {
  const [lost, over] = [new AbortController(), new AbortController()]
  const renew = () => void mirror.renewLease(run, now()).catch((error: unknown) => lost.abort(error))
  const heartbeat = setInterval(renew, HEARTBEAT_MS)
  const timeIsUp = (afterMs: number) => {
    const reached =
      `${organization}: the run was ended after ${duration(afterMs)}, as long as one may take. What was read so far is saved, and the ` +
      'next run goes on from there. If it happens every night, raise concurrency or requestsPerMinute.'
    over.abort(new MaxRunReached(reached))
  }
  const startMs = monotonicMs()
  const timer = maxRunMs === undefined ? undefined : setTimeout(timeIsUp, maxRunMs, maxRunMs)
  return {
    stop: AbortSignal.any([signal, over.signal, lost.signal]),
    lost: lost.signal,
    look() {
      if (maxRunMs !== undefined && monotonicMs() - startMs >= maxRunMs) timeIsUp(maxRunMs)
    },
    end() {
      clearInterval(heartbeat)
      clearTimeout(timer)
    },
  }
}

type Settings = Pick<Mirroring, 'retention' | 'signal'> & Answered & { mirror: Pick<Mirror, 'prune'> }

/**
 * Deletes what is older than it is kept, after a run. Ages count from the start of the run or the clock of the service, the earlier one: a
 * clock of this machine that jumped ahead deletes nothing. Never throws, since the run has ended. Undefined where nothing was deleted.
 */
export async function applyRetention(
  { mirror, source, retention, now, signal }: Settings,
  { organization, startedAtMs }: Pick<Run, 'organization' | 'startedAtMs'>,
): Promise<Pruned | undefined> {
  if (retention === undefined || signal.aborted) return undefined
  const serviceMs = serviceTimeMs({ source, now })
  const reckoning = { asOfMs: Math.min(startedAtMs, serviceMs ?? Infinity), isConfirmed: serviceMs !== undefined }
  try {
    const pruned = await mirror.prune(organization, retention, reckoning)
    const { changes, resolvedRejects, runs, removedCustomers } = pruned
    return changes + resolvedRejects + runs + removedCustomers > 0 ? pruned : undefined
  } catch (error) {
    const { code, message } = describeError(error)
    // The message of a defect may quote anything.
    const said =
      code === 'unexpected' ? 'Retention failed. This is a defect of Customer Mirror; please report it.' : message
    return { ...nothingPruned(), isUnfinished: true, error: { code, message: said } }
  }
}

/** Searches for the customers about to be removed. The whole list has been read, so an outage, or a stop, only postpones removals. */
async function searchForAbsent(
  { source, mirror, removals, now, random }: Mirroring,
  run: Run,
  { pageSize, ...certificate }: Pick<Certificate, 'proof' | 'isWhole' | 'pageSize'>,
  signal: AbortSignal,
): Promise<Searched> {
  const proof = removingProof(certificate)
  if (proof === undefined) return NOT_SEARCHED
  const serviceMs = serviceTimeMs({ source, now })
  const candidates = await mirror.findRemovalCandidates(run, { rule: removals, proof, serviceMs })
  if (candidates.length === 0) return NOT_SEARCHED
  const controls = await mirror.findListed(run, MOST_CONTROLS)
  return confirmAbsences(candidates, controls, {
    search: (text) => source.search(text, { size: pageSize, signal }),
    askForPage: async () => (await source.readPage({ page: 1, size: pageSize }, { signal })).release?.(),
    requestsMade: () => source.counters.requests,
    random,
    signal,
    everyKind: proof === 'proven',
  })
}

const NOT_SEARCHED: Searched = { confirmed: new Set() }

type Answered = { source: Partial<Pick<Source, 'clockOffsetMs'>>; now: () => number }

/** What the clock of the service shows now, by the `Date` of its answers, in Unix milliseconds; undefined where it sends none. */
function serviceTimeMs({ source: { clockOffsetMs }, now }: Answered): number | undefined {
  return clockOffsetMs === undefined ? undefined : now() + clockOffsetMs
}
