import { factsOfCode } from '../errors/error-facts.ts'
import type { LatestRun } from '../model/report.ts'
import type { UncountedFreshness } from '../model/mirror.ts'
import type { OrganizationView } from './overview.ts'

/**
 * What is to be said of an organization in one word. `failing`: its last run failed. `late`: it was due long ago and was not read
 * since. `paused`: a person paused it, and that it is late is no surprise. `stopped`: its last run was interrupted or cancelled.
 * `waiting`: its service asked for a pause. `unproven`: it was read, and its scan
 * proves nothing although it was meant to. `shape-changed`: many of its customers have lost a field, or are rejected.
 */
export type State =
  | 'failing'
  | 'late'
  | 'held'
  | 'shape-changed'
  | 'never'
  | 'paused'
  | 'stopped'
  | 'waiting'
  | 'running'
  | 'unproven'
  | 'retired'
  | 'fresh'

/**
 * What the job of an organization waits for. `pause`: its organization is paused. `rate-limit`: its service named a time, or asked to slow
 * down. `outage`: its service failed. `retry`: after another failure, or for another run of its organization.
 */
export type Wait = {
  why: 'pause' | 'rate-limit' | 'outage' | 'retry'
  /** Unix milliseconds; undefined where it is not known. */
  untilMs?: number | undefined
  /** What the service answered, if it did. */
  status?: number | undefined
  /** The number of the attempt that follows. */
  attempt?: number | undefined
}

/** How an organization stands: every state that is true of it, the gravest first. */
export type Standing = {
  states: readonly State[]
  /** 0 where a person has something to do, 1 while something is under way or might be better, 2 where all is as it should be. */
  urgency: number
  /** The full runs that failed in a row, among the drawn ones: how many, since when, and the last one. */
  failures: { inARow: number; sinceMs: number | undefined; last: LatestRun | undefined }
  /** The last full run that has ended; undefined if none has. */
  lastEnded: LatestRun | undefined
}

type Facts = Pick<
  OrganizationView<UncountedFreshness>,
  'freshness' | 'due' | 'held' | 'underway' | 'runs' | 'paused' | 'wait'
>

/** How an organization stands, from what is known of it. */
export function standingOf(facts: Facts): Standing {
  const { underway, runs } = facts
  // A run without a lease ended without being able to say so.
  const ended = runs.filter(({ runId }) => runId !== underway?.runId)
  const lastEnded = ended.at(-1)
  const failures = failuresOf(ended)
  const states = statesOf(facts, lastEnded)
  return { states, urgency: Math.min(...states.map((state) => urgencyOf(state, facts))), failures, lastEnded }
}

/** An organization that was never mirrored needs a person only where no worker is about to do it, or none has for long. */
function urgencyOf(state: State, { due }: Facts): number {
  return state === 'never' && due?.isLate === false ? 1 : URGENCY[state]
}

const URGENCY: Readonly<Record<State, number>> = {
  failing: 0,
  late: 0,
  held: 0,
  'shape-changed': 0,
  never: 0,
  paused: 1,
  stopped: 1,
  waiting: 1,
  running: 1,
  unproven: 1,
  retired: 2,
  fresh: 2,
}

function statesOf({ freshness, due, held, underway, paused, wait }: Facts, lastEnded: LatestRun | undefined): State[] {
  const wasRead = freshness?.readAsOfMs !== undefined
  const isUnknown = !wasRead && underway === undefined && lastEnded === undefined
  const isUnproven = wasRead && lastEnded?.status === 'complete' && lastEnded.proof === 'unproven'
  const grave: (State | false | undefined)[] = [
    lastEnded !== undefined && isFailure(lastEnded) && 'failing',
    due?.isLate === true && !isUnknown && paused === undefined && 'late',
    held.length > 0 && 'held',
    freshness?.why.includes('shape-changed') === true && 'shape-changed',
    isUnknown && paused === undefined && 'never',
    paused !== undefined && 'paused',
    isStopped(lastEnded) && underway === undefined && 'stopped',
    (underway === undefined ? lastEnded?.status === 'waiting' : isOfService(wait)) && 'waiting',
    underway !== undefined && !isOfService(wait) && 'running',
    isUnproven && !isByChoice(freshness.why) && 'unproven',
    freshness?.retiredAtMs !== undefined && 'retired',
  ]
  const states = grave.filter((state) => typeof state === 'string')
  return states.length === 0 ? ['fresh'] : states
}

/** Whether a job waits for its service. */
export function isOfService(wait: Wait | undefined): wait is Wait {
  return wait?.why === 'outage' || wait?.why === 'rate-limit'
}

function isStopped(run: LatestRun | undefined): boolean {
  return run?.status === 'interrupted' || run?.status === 'running' || (run?.status === 'failed' && !isFailure(run))
}

/** A run that a person cancelled is recorded as failed, and is no failure. */
function isFailure({ status, errorCode }: LatestRun): boolean {
  return status === 'failed' && factsOfCode(errorCode ?? '').from !== 'cancel'
}

/** Whether the configuration asks for scans that prove nothing. */
function isByChoice(reasons: readonly string[]): boolean {
  return reasons.length === 1 && reasons[0] === 'plain-scan'
}

function failuresOf(ended: readonly LatestRun[]): Standing['failures'] {
  const lastGood = ended.findLastIndex((run) => !isFailure(run))
  const failed = ended.slice(lastGood + 1)
  return {
    inARow: failed.length,
    sinceMs: failed[0]?.startedAtMs,
    last: failed.at(-1),
  }
}
