import type { LastRun } from '../../src/store.ts'
import { isForGood } from '../../src/errors/error-facts.ts'
import { isDue, type Wanted } from '../schedule/missed-runs.ts'

/**
 * Why a quick run is not made. `full-run`: the organization has a job that reads the whole list. `due`: such a run is due.
 * `unfinished`: one was interrupted, and is continued. `refused`: the last quick run failed so that another one would too.
 * `leased`: a run outside this queue has the organization. `paused`: a person paused it.
 */
export type WhyNone = 'not-scheduled' | 'full-run' | 'due' | 'unfinished' | 'refused' | 'leased' | 'paused'

export type Situation = {
  /** Without one, no run is due. */
  wanted: Wanted | undefined
  /** The state of the job that reads the whole list; undefined where there is none. */
  fullRun: string | undefined
  lastRun: LastRun | undefined
  /** How long an interrupted run is continued. */
  resumeWithinMs: number
  nowMs: number
  /** Whether a person asked for the quick run: then it is made although a full run is due, or the last one was refused. */
  isAsked: boolean
}

/** Why no quick run is to be made now; undefined if one is. */
export function whyNoQuickRun({
  wanted,
  fullRun,
  lastRun,
  resumeWithinMs,
  nowMs,
  isAsked,
}: Situation): WhyNone | undefined {
  if (fullRun !== undefined) return 'full-run'
  if (isUnfinished(lastRun, nowMs, resumeWithinMs)) return 'unfinished'
  if (isAsked) return undefined
  if (wanted !== undefined && isDue(wanted, lastRun, nowMs)) return 'due'
  return isForGood(lastRun?.quickErrorCode ?? '') ? 'refused' : undefined
}

/** Whether a full run goes on where it was interrupted, or waits for the service. */
function isUnfinished(lastRun: LastRun | undefined, nowMs: number, resumeWithinMs: number): boolean {
  const waits = lastRun?.status === 'interrupted' || lastRun?.status === 'waiting'
  return waits && Math.abs(nowMs - lastRun.startedAtMs) <= resumeWithinMs
}

/** Whether the job that reads the whole list is under way or about to be, so that a quick run must give way to it. */
export function isFullRunOn(state: string | undefined): boolean {
  return state === 'active' || state === 'waiting' || state === 'prioritized'
}
