import type { Config } from '../../src/config/read-config.ts'
import { factsOfCode, isForGood } from '../../src/errors/error-facts.ts'
import type { LastRun, Mirror } from '../../src/store.ts'
import { isFarAhead } from '../../src/time/clock-tolerance.ts'
import type { SharedValues } from '../queue/port.ts'
import type { Queues } from '../queue/queues.ts'
import { deleteCancellation, listCancellations, type Cancellation } from '../run/cancellations.ts'
import { previousDueMs, type Schedule } from './due-times.ts'

/** An organization with the schedule of its nights. */
export type Wanted = { organization: string; schedule: Schedule }

/**
 * Why missed runs are looked for. `start`: this worker has just started, and tries once again what failed before, because its cause may
 * have been fixed. `queue-back`: the queue was away, and may have lost its jobs. `time`: as it does every few minutes.
 */
export type Occasion = 'start' | 'queue-back' | 'time'

export type LookingForMissed = {
  queues: Pick<Queues, 'requestSync'>
  mirror: Pick<Mirror, 'listLastRuns'>
  /** What workers share, with the cancels of persons. */
  values: Pick<SharedValues, 'list' | 'delete'>
  organizations: Config['organizations']
  occasion: Occasion
  /** Unix milliseconds. */
  nowMs: number
  /** When it was decided to look: what has failed since then failed for another worker that looked with this one. */
  askedAtMs: number
}

/**
 * Requests missed runs: one for each organization, however many nights were missed. Returns those that were requested: an organization
 * that has a job already is not among them. A quick run is not made up for: the next one finds what it would have found.
 */
export async function requestMissedRuns(looking: LookingForMissed): Promise<string[]> {
  const { queues, mirror, values, organizations, occasion, nowMs, askedAtMs } = looking
  const wanted = organizations.flatMap(({ id, schedule }) =>
    schedule === undefined ? [] : [{ organization: id, schedule }],
  )
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  const cancelledUntilMs = await readCancelledUntil(values, wanted, nowMs)
  const requested: string[] = []
  for (const { organization, schedule } of wanted) {
    const dueMs = previousDueMs(organization, schedule, nowMs)
    const lastRun = lastRuns.get(organization)
    if ((cancelledUntilMs.get(organization) ?? -1) >= dueMs) continue
    if (!isMissed(lastRun, { dueMs, nowMs, occasion })) continue
    const { added } = await queues.requestSync(organization, 'catch-up', { dueMs, askedAtMs })
    if (added) requested.push(organization)
  }
  return requested
}

/** Whether the organization was due after its last complete reading. */
export function isDue(
  { organization, schedule }: Wanted,
  lastRun: Pick<LastRun, 'completeAsOfMs'> | undefined,
  nowMs: number,
): boolean {
  return !wasReadSince(previousDueMs(organization, schedule, nowMs), lastRun, nowMs)
}

/**
 * Whether the list was read to its end at that moment or later. A date far in the future comes from a wrong clock, and is ignored:
 * otherwise the organization would not be mirrored until then.
 */
export function wasReadSince(
  sinceMs: number,
  lastRun: Pick<LastRun, 'completeAsOfMs'> | undefined,
  nowMs: number,
): boolean {
  const { completeAsOfMs } = lastRun ?? {}
  return completeAsOfMs !== undefined && completeAsOfMs >= sinceMs && !isFarAhead(completeAsOfMs, nowMs)
}

/**
 * Whether a run is to be made up for. One that failed for good, or that a person cancelled, is left until the organization is due again, or a
 * person asks. After an outage that outlasted all attempts of its job, a run is requested every hour, and so is a waiting one, whose job may
 * have been lost, and one whose secret was missing: what writes it may have started after this worker.
 */
export function isMissed(
  lastRun: LastRun | undefined,
  { dueMs, nowMs, occasion }: { dueMs: number; nowMs: number; occasion: Occasion },
): boolean {
  if (wasReadSince(dueMs, lastRun, nowMs)) return false
  if (lastRun === undefined || lastRun.startedAtMs < dueMs) return true
  const { status, errorCode = '', startedAtMs } = lastRun
  if (status !== 'failed' && status !== 'waiting') return true
  const { from } = factsOfCode(errorCode)
  if (status === 'failed' && from === 'cancel') return false
  if (occasion === 'start') return true
  if (isForGood(errorCode) && from !== 'configuration') return false
  return occasion === 'queue-back' || nowMs - startedAtMs >= COOL_DOWN_MS
}

const COOL_DOWN_MS = 3_600_000

/**
 * Until when a person cancelled the runs of organizations, in Unix milliseconds. Cancels that hold nothing back any more are deleted
 * from the queue.
 */
async function readCancelledUntil(
  values: LookingForMissed['values'],
  wanted: readonly Wanted[],
  nowMs: number,
): Promise<Map<string, number>> {
  const until = new Map<string, number>()
  for (const [organization, cancellation] of await listCancellations(values)) {
    const schedule = wanted.find((each) => each.organization === organization)?.schedule
    const dueMs = schedule && previousDueMs(organization, schedule, nowMs)
    if (isOver(cancellation, dueMs, nowMs)) await deleteCancellation(values, organization)
    else until.set(organization, cancellation.untilMs)
  }
  return until
}

/** Whether the organization was due since, or has no schedule, and its job has had a day to end. */
function isOver({ askedAtMs, untilMs }: Cancellation, dueMs: number | undefined, nowMs: number): boolean {
  return (dueMs === undefined || dueMs > untilMs) && nowMs - askedAtMs > DAY_MS
}

const DAY_MS = 86_400_000
