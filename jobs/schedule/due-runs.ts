import { cancellations } from '../cancel.ts'
import { KINDS, RUN_KINDS, type SharedValues } from '../queue/port.ts'
import type { Queues } from '../queue/queues.ts'
import { betweenNights, nextDueMs, previousDueMs, type Schedule } from './due-times.ts'
import type { Organization } from '../../src/config/organization.ts'
import type { Config } from '../../src/config/read-config.ts'
import { factsOfCode, isForGood } from '../../src/errors/error-facts.ts'
import type { LastRun } from '../../src/model/mirror.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { pauseEndedMs, pauseOf, type Pauses } from '../../src/model/pause.ts'
import { isFarAhead, localTime } from '../../src/time/moments.ts'

type Watching = { config: { readonly current: Config }; queues: Pick<Queues, 'request'>; now: () => number }

/** A look asks for runs that came due since the last one. Every worker does so, and the queue takes each name once. Rejects where it is away. */
export function dueTimesLook({ config, queues, now }: Watching): () => Promise<void> {
  let lookedMs = now()

  return async () => {
    const nowMs = now()
    lookedMs = Math.min(lookedMs, nowMs)
    for (const { id, schedule } of config.current.organizations) {
      for (const kind of RUN_KINDS) {
        const line = kind === 'sync' ? schedule : schedule && betweenNights(schedule)
        if (line === undefined) continue
        const dueMs = previousDueMs(id, line, nowMs)
        const isTooLate = nowMs - dueMs >= KINDS[kind].latestMs
        if (dueMs > lookedMs && !isTooLate) await queues.request(kind, id, 'schedule', { dueMs, nowMs })
      }
    }
    lookedMs = nowMs
  }
}

/** `start`: what failed is tried once more, as its cause may be fixed. `jobs-lost`: the queue was away, or a pause has ended. `time`: as usual. */
export type Occasion = 'start' | 'jobs-lost' | 'time'

/** Requests one run for each organization, however many nights were missed. Returns those that had no job already. */
export async function requestMissedRuns(looking: {
  queues: Pick<Queues, 'request'>
  mirror: Pick<Mirror, 'listLastRuns'>
  values: Pick<SharedValues, 'list'>
  organizations: Config['organizations']
  pauses: Pauses
  occasion: Occasion
  nowMs: number
  /** When it was decided to look: what has failed since then failed for another worker that looked with this one. */
  askedAtMs: number
}): Promise<string[]> {
  const { queues, mirror, values, organizations, pauses, occasion, nowMs, askedAtMs } = looking
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  const cancelled = await cancellations.list(values)
  const requested: string[] = []
  for (const { id, schedule } of organizations) {
    const dueMs = schedule && previousDueMs(id, schedule, nowMs)
    if (dueMs === undefined || pauseOf(pauses, id, nowMs) !== undefined || (cancelled.get(id)?.untilMs ?? -1) >= dueMs)
      continue
    if (!isMissed(lastRuns.get(id), { dueMs, nowMs, occasion })) continue
    const state = await queues.request('sync', id, 'catch-up', { dueMs, nowMs, askedAtMs })
    if (state === 'added') requested.push(id)
  }
  return requested
}

/** Whether the organization was due after its last complete reading. */
export function isDue(organization: string, schedule: Schedule, lastRun: Known | undefined, nowMs: number): boolean {
  return !wasReadSince(previousDueMs(organization, schedule, nowMs), lastRun, nowMs)
}

/** Whether the list was read to its end at that moment or later. A date far ahead comes from a wrong clock, and is ignored. */
export function wasReadSince(sinceMs: number, lastRun: Known | undefined, nowMs: number): boolean {
  const { readAsOfMs } = lastRun ?? {}
  return readAsOfMs !== undefined && readAsOfMs >= sinceMs && !isFarAhead(readAsOfMs, nowMs)
}

/**
 * Whether a run is to be made up for. One that failed for good or was cancelled is left until it is due again, or a person asks, unless a wrong
 * clock dated it. After an outage or a fault of the mirror, without a secret, and while one waits, whose job may be lost, it is requested every hour.
 */
export function isMissed(
  lastRun: LastRun | undefined,
  { dueMs, nowMs, occasion }: { dueMs: number; nowMs: number; occasion: Occasion },
): boolean {
  if (wasReadSince(dueMs, lastRun, nowMs)) return false
  const { status, errorCode = '', startedAtMs = 0 } = lastRun ?? {}
  if (startedAtMs < dueMs || isFarAhead(startedAtMs, nowMs)) return true
  if (status !== 'failed' && status !== 'waiting') return true
  const { from } = factsOfCode(errorCode)
  if (status === 'failed' && from === 'cancel') return false
  if (occasion === 'start') return true
  if (isForGood(errorCode) && from !== 'configuration') return false
  return occasion === 'jobs-lost' || nowMs - startedAtMs >= COOL_DOWN_MS
}

const COOL_DOWN_MS = 3_600_000

/** How long after its due time an organization may take. */
export const GRACE_MS = 2 * 3_600_000

export type Scheduled = Pick<Organization, 'id' | 'schedule' | 'seenAtMs'>
type Known = Partial<Pick<LastRun, 'readAsOfMs' | 'firstRunAtMs'>>

/** Since when an organization is known whose list was never read to its end; 0 for any other, and where it is unknown. */
function newSinceMs({ seenAtMs }: Scheduled, known: Known | undefined, nowMs: number): number {
  if (known?.readAsOfMs !== undefined) return 0
  const moments = [seenAtMs, known?.firstRunAtMs].filter((atMs) => atMs !== undefined)
  // A moment far ahead comes from a wrong clock.
  const plausible = moments.filter((atMs) => !isFarAhead(atMs, nowMs))
  return plausible.length === 0 ? 0 : Math.min(...plausible)
}

type Moment = { nowMs: number; pauses?: Pauses | undefined }

/** When it was due and is due next. Late: longer than it may take since it was due, first seen and last paused. Undefined without a schedule. */
export function dueOutlook(organization: Scheduled, known: Known | undefined, { nowMs, pauses = new Map() }: Moment) {
  const { id, schedule } = organization
  if (schedule === undefined) return undefined
  const sinceMs = newSinceMs(organization, known, nowMs)
  const lastMs = Math.max(previousDueMs(id, schedule, nowMs), sinceMs)
  const nextMs = nextDueMs(id, schedule, nowMs)
  const untilMs = nowMs - GRACE_MS
  const isOver = Math.max(sinceMs, pauseEndedMs(pauses, id, nowMs) ?? 0) <= untilMs
  const between = betweenNights(schedule)
  return {
    lastMs,
    nextMs,
    nextLocal: localTime(nextMs, schedule.timezone),
    nextPartialMs: between && nextDueMs(id, between, nowMs),
    isDue: !wasReadSince(lastMs, known, nowMs),
    isLate: isOver && !wasReadSince(previousDueMs(id, schedule, untilMs), known, nowMs),
  }
}
