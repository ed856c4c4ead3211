import { isFarAhead, LARGEST_STEP_MS } from '../../src/time/clock-tolerance.ts'
import type { LastRun } from '../../src/store.ts'
import { factsOfCode } from '../../src/errors/error-facts.ts'
import { isForGood } from '../../src/errors/error-facts.ts'
import { nextAfter, previousDueMs, type Schedule } from './due-times.ts'

/** An organization with its configured schedule: of its nights, or of the quick runs between them. */
export type Wanted = { organization: string; schedule: Schedule; isQuick?: true }

/**
 * A schedule in the queue, with the moment of its next tick. `ticks` is false when that moment has passed without a tick in the
 * queue: then no tick would ever follow.
 */
export type Found = {
  organization: string
  cron: string
  timezone: string
  nextMs: number
  ticks: boolean
  isQuick?: true
}

/** What to do, in this order: catch up, upsert, remove the schedules with these names. */
export type SchedulePlan = { catchUp: string[]; upsert: Wanted[]; remove: string[] }

export type PlanInput = {
  wanted: readonly Wanted[]
  found: readonly Found[]
  lastRuns: readonly LastRun[]
  nowMs: number
  /** Until when a person cancelled the runs of organizations, in Unix milliseconds. */
  cancelledUntilMs?: ReadonlyMap<string, number>
  /** Whether this worker has just started: then failed runs are retried once, because their cause may have been fixed. */
  atStart: boolean
  /** Whether the clock of this worker was just set back: then the next tick of a schedule may stand where the clock stood before. */
  wasSetBack?: boolean | undefined
}

/** The name of a schedule in the queue: the id of its organization, which never holds a tilde, or that id and `~quick`. */
export function nameOf({ organization, isQuick }: Pick<Wanted, 'organization' | 'isQuick'>): string {
  return isQuick === true ? organization + QUICK : organization
}

/** What a schedule with this name is for. */
export function namedBy(name: string): Pick<Wanted, 'organization' | 'isQuick'> {
  return name.endsWith(QUICK) ? { organization: name.slice(0, -QUICK.length), isQuick: true } : { organization: name }
}

const QUICK = '~quick'

/**
 * Compares schedules. A correct schedule is never written again: that would delete an overdue tick, and a deploy at two o'clock
 * would skip the night.
 */
export function planSchedules({ wanted, found, ...input }: PlanInput): SchedulePlan {
  const byName = new Map(found.map((schedule) => [nameOf(schedule), schedule]))
  const names = new Set(wanted.map(nameOf))
  return {
    catchUp: wanted
      // A quick run that was missed is not made up for: the next one finds what it would have found.
      .filter((each) => each.isQuick !== true && needsCatchUp(each, { ...input, found: byName.get(nameOf(each)) }))
      .map(({ organization }) => organization),
    upsert: wanted.filter((each) => !isSame(each, byName.get(nameOf(each)), input)),
    remove: found.map(nameOf).filter((name) => !names.has(name)),
  }
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

type Situation = Omit<PlanInput, 'wanted' | 'found'> & { found: Found | undefined }

function needsCatchUp(wanted: Wanted, situation: Situation): boolean {
  const { found, lastRuns, nowMs, atStart } = situation
  const lastRun = lastRuns.find(({ organization }) => organization === wanted.organization)
  const losesOverdueTick = found !== undefined && !isSame(wanted, found, situation) && found.nextMs <= nowMs
  if (losesOverdueTick) return true
  if (!isDue(wanted, lastRun, nowMs) || isCancelled(wanted, lastRun, situation)) return false
  // A queue that lost a schedule has lost its waiting jobs too.
  if (atStart || found === undefined) return true
  return !failedSinceDue(wanted, lastRun, nowMs)
}

/** Whether a person cancelled the run for the last due time: the next one is for the next due time, or by hand. */
function isCancelled(
  { organization, schedule }: Wanted,
  lastRun: LastRun | undefined,
  { cancelledUntilMs, nowMs }: Pick<Situation, 'cancelledUntilMs' | 'nowMs'>,
): boolean {
  const dueMs = previousDueMs(organization, schedule, nowMs)
  if ((cancelledUntilMs?.get(organization) ?? -1) >= dueMs) return true
  if (lastRun?.status !== 'failed' || factsOfCode(lastRun.errorCode ?? '').from !== 'cancel') return false
  // The queue may have lost what it knew of the cancel. A run with a later date began by a wrong clock.
  return lastRun.startedAtMs >= dueMs && !isFarAhead(lastRun.startedAtMs, nowMs)
}

/**
 * A run that failed for good is not retried until the organization is due, or by hand. After an outage that outlasted all attempts
 * of its job, a run is requested every hour, and so is a waiting one, whose job may have been lost, and one whose secret was missing: what
 * writes it may have started after this worker, and to look for it asks the service nothing.
 */
function failedSinceDue({ organization, schedule }: Wanted, lastRun: LastRun | undefined, nowMs: number): boolean {
  if (lastRun?.status !== 'failed' && lastRun?.status !== 'waiting') return false
  if (lastRun.startedAtMs < previousDueMs(organization, schedule, nowMs)) return false
  // The run began by a clock far in the future, at an unknown time.
  if (isFarAhead(lastRun.startedAtMs, nowMs)) return false
  const { errorCode = '', startedAtMs } = lastRun
  const isGivenUp = isForGood(errorCode) && factsOfCode(errorCode).from !== 'configuration'
  return isGivenUp || nowMs - startedAtMs < COOL_DOWN_MS
}

const COOL_DOWN_MS = 3_600_000

function isSame(
  { schedule }: Wanted,
  found: Found | undefined,
  { nowMs, wasSetBack }: Pick<PlanInput, 'nowMs' | 'wasSetBack'>,
): boolean {
  if (found === undefined || !found.ticks) return false
  if (schedule.cron !== found.cron || schedule.timezone !== found.timezone) return false
  // The clocks of workers may differ a little, but a clock that was set back is known to have been wrong.
  if (wasSetBack === true) return found.nextMs <= nextAfter(schedule, nowMs)
  return found.nextMs <= secondTickMs(schedule, nowMs + LARGEST_STEP_MS)
}

/** A schedule that skips two ticks was written by a clock that was ahead, and would not tick until then. */
function secondTickMs(schedule: Schedule, fromMs: number): number {
  return nextAfter(schedule, nextAfter(schedule, fromMs))
}
