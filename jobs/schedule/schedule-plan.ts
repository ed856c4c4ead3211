import { LARGEST_STEP_MS } from '../../src/clock-tolerance.ts'
import type { LastRun } from '../../src/store.ts'
import { createHash } from 'node:crypto'
import { factsOfCode } from '../../src/error-facts.ts'
import { nextAfter, previousDueMs, type Schedule } from './due-times.ts'

/** An organization with a schedule, as the configuration has it. */
export type Wanted = { organization: string; schedule: Schedule }

/**
 * A schedule as the queue has it, with the moment of its next tick. `ticks` is false when that moment has passed and no
 * tick is there: then none would ever come again.
 */
export type Found = { organization: string; cron: string; timezone: string; nextMs: number; ticks: boolean }

/** What to do, in this order: catch up, upsert, remove. */
export type SchedulePlan = { catchUp: string[]; upsert: Wanted[]; remove: string[] }

export type PlanInput = {
  wanted: readonly Wanted[]
  found: readonly Found[]
  lastRuns: readonly LastRun[]
  nowMs: number
  /** Whether this worker has just started: then what failed is tried once more, as its cause may have been mended. */
  atStart: boolean
}

/**
 * Compares. A schedule that is as it should be is never touched: writing it again would delete a tick that is overdue, and
 * a deploy across two o'clock would skip the night.
 */
export function planSchedules({ wanted, found, ...input }: PlanInput): SchedulePlan {
  const byId = new Map(found.map((schedule) => [schedule.organization, schedule]))
  const ids = new Set(wanted.map(({ organization }) => organization))
  return {
    catchUp: wanted
      .filter((organization) => needsCatchUp(organization, { ...input, found: byId.get(organization.organization) }))
      .map(({ organization }) => organization),
    upsert: wanted.filter((organization) => !isSame(organization, byId.get(organization.organization), input.nowMs)),
    remove: found.map(({ organization }) => organization).filter((organization) => !ids.has(organization)),
  }
}

/** Whether the organization was due since it was last read whole. */
export function isDue({ organization, schedule }: Wanted, lastRun: LastRun | undefined, nowMs: number): boolean {
  return !wasReadSince(previousDueMs(organization, schedule, nowMs), lastRun, nowMs)
}

/**
 * Whether the list was read to its end at that moment or later. A date far ahead comes from a clock that was wrong, and would
 * keep the organization from being mirrored until then.
 */
export function wasReadSince(sinceMs: number, lastRun: LastRun | undefined, nowMs: number): boolean {
  const { completeAsOfMs } = lastRun ?? {}
  return completeAsOfMs !== undefined && completeAsOfMs >= sinceMs && completeAsOfMs <= nowMs + LARGEST_STEP_MS
}

type Situation = Pick<PlanInput, 'lastRuns' | 'nowMs' | 'atStart'> & { found: Found | undefined }

function needsCatchUp(wanted: Wanted, { found, lastRuns, nowMs, atStart }: Situation): boolean {
  const lastRun = lastRuns.find(({ organization }) => organization === wanted.organization)
  const losesOverdueTick = found !== undefined && !isSame(wanted, found, nowMs) && found.nextMs <= nowMs
  if (losesOverdueTick) return true
  if (!isDue(wanted, lastRun, nowMs)) return false
  // A queue that has forgotten a schedule has forgotten its waiting jobs too.
  if (atStart || found === undefined) return true
  return !failedSinceDue(wanted, lastRun, nowMs)
}

/**
 * What failed for good is not tried again until it is due, or by hand; what failed for a while, an outage that outlived
 * all the tries of its job, is asked for again every hour. So is what waits: its job may have been lost.
 */
function failedSinceDue({ organization, schedule }: Wanted, lastRun: LastRun | undefined, nowMs: number): boolean {
  if (lastRun?.status !== 'failed' && lastRun?.status !== 'waiting') return false
  if (lastRun.startedAtMs < previousDueMs(organization, schedule, nowMs)) return false
  // Begun by a clock that was far ahead: who knows when.
  if (lastRun.startedAtMs > nowMs + LARGEST_STEP_MS) return false
  return isForGood(lastRun.errorCode ?? '') || nowMs - lastRun.startedAtMs < COOL_DOWN_MS
}

const COOL_DOWN_MS = 3_600_000

/** Refusals and mistakes, which a person has to mend. Whether a mirror was mended is seen without asking the service. */
function isForGood(errorCode: string): boolean {
  const { again, from } = factsOfCode(errorCode)
  return again === 'never' && from !== 'mirror'
}

function isSame({ schedule }: Wanted, found: Found | undefined, nowMs: number): boolean {
  if (found === undefined || !found.ticks || fingerprint(schedule) !== fingerprint(found)) return false
  return found.nextMs <= secondTickMs(schedule, nowMs + LARGEST_STEP_MS)
}

/** A schedule that skips two ticks was written by a clock that was ahead, and would stand still until then. */
function secondTickMs(schedule: Schedule, fromMs: number): number {
  return nextAfter(schedule, nextAfter(schedule, fromMs))
}

function fingerprint({ cron, timezone }: { cron: string; timezone: string }): string {
  return createHash('sha256').update(`${cron}\n${timezone}`).digest('hex')
}
