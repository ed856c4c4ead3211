import { z } from 'zod'
import { factsOfCode } from '../errors/error-facts.ts'
import type { Pause } from '../model/pause.ts'
import type { LatestRun, LeasedRun } from '../model/report.ts'
import type { Freshness, HeldRemovals, UncountedFreshness } from '../model/mirror.ts'

/** What is to be said of an organization in one word, and its urgency: 0 where a person has something to do, 2 where all is well. */
export const STATES = {
  failing: { urgency: 0, words: 'Failing', colour: 'bad' },
  // Due long ago, and not read since.
  late: { urgency: 0, words: 'Late', colour: 'bad' },
  held: { urgency: 0, words: 'Removals held', colour: 'weak' },
  'shape-changed': { urgency: 0, words: 'Shape changed', colour: 'weak' },
  never: { urgency: 0, words: 'Never mirrored', colour: 'weak' },
  paused: { urgency: 1, words: 'Paused', colour: 'weak' },
  // Its last run was interrupted, or a person cancelled it.
  stopped: { urgency: 1, words: 'Stopped', colour: 'weak' },
  waiting: { urgency: 1, words: 'Waiting', colour: 'weak' },
  running: { urgency: 1, words: 'Running', colour: 'busy' },
  unproven: { urgency: 1, words: 'Unproven', colour: 'weak' },
  retired: { urgency: 2, words: 'Retired', colour: 'quiet' },
  fresh: { urgency: 2, words: 'Fresh', colour: 'good' },
} as const

type State = keyof typeof STATES

/** What a job waits for: its service asked for it, or failed; or `retry`, after another failure or for another run of its organization. */
export const storedWait = z.object({
  why: z.enum(['rate-limit', 'outage', 'retry']),
  /** Unix milliseconds; undefined where it is not known. */
  untilMs: z.number().optional(),
  /** What the service answered, if it did. */
  status: z.number().optional(),
  /** The number of the attempt that follows. */
  attempt: z.number().optional(),
})
export type Wait = z.output<typeof storedWait>

export type Standing = ReturnType<typeof standingOf>

export type Known = {
  /** Undefined where it was never mirrored. The metrics show it without the counts of customers. */
  freshness: (UncountedFreshness & Partial<Freshness>) | undefined
  /** Undefined where it has no schedule. */
  due: Due | undefined
  held: readonly HeldRemovals[]
  underway: Underway | undefined
  paused: Pause | undefined
  /** What its job waits for now; undefined also where the queue could not be asked. */
  wait?: Wait | undefined
  /** Its latest full runs, oldest first. */
  runs: readonly LatestRun[]
}

/** When an organization is due, by its schedule. Times in Unix milliseconds. */
export type Due = {
  /** When it was due last, and when it is due next; `nextLocal` is that in the time zone of the schedule. */
  lastMs: number
  nextMs: number
  nextLocal: string
  /** Its next run between two nights; undefined where it has none. */
  nextPartialMs: number | undefined
  /** Whether it was not read since it was due; late: for longer than a night may take. */
  isDue: boolean
  isLate: boolean
}

export function standingOf(facts: Known) {
  const { underway, runs, due } = facts
  // A run without a lease ended without being able to say so.
  const ended = runs.filter(({ runId }) => runId !== underway?.runId)
  const lastEnded = ended.at(-1)
  const failed = ended.slice(ended.findLastIndex((run) => !isFailure(run)) + 1)
  const states = statesOf(facts, lastEnded)
  return {
    /** Every state that is true of it, the gravest first; its urgency is that of the gravest. */
    states,
    // One that was never mirrored needs a person only where no worker is about to do it, or none has for long.
    urgency: Math.min(...states.map((each) => (each === 'never' && due?.isLate === false ? 1 : STATES[each].urgency))),
    /** The full runs that failed in a row, among the drawn ones. */
    failures: { inARow: failed.length, sinceMs: failed[0]?.startedAtMs, last: failed.at(-1) },
    /** The last full run that has ended; undefined if none has. */
    lastEnded,
  }
}

function statesOf({ freshness, due, held, underway, paused, wait }: Known, lastEnded: LatestRun | undefined): State[] {
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
    // A configuration may ask for scans that prove nothing.
    isUnproven && freshness.why.join('') !== 'plain-scan' && 'unproven',
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

export type Underway = ReturnType<typeof progressOf>

/** A pace is known after this time. */
const LEAST_MS = 2000

/** How far a run is: customers read, with those of the run it continues; the percentage, at most 99; and the time left, at the pace so far. */
export function progressOf(run: Omit<LeasedRun, 'holder'>, nowMs: number) {
  const readInAll = run.readBefore + run.read
  const total = run.isPartial ? undefined : run.total
  if (total === undefined || total === 0) return { ...run, readInAll, percent: undefined, leftMs: undefined }
  const percent = Math.min(99, Math.floor((readInAll / total) * 100))
  const tookMs = nowMs - run.startedAtMs
  const left = total - readInAll
  // Beyond its total, a list is being read again, and how often is not known.
  const hasPace = tookMs >= LEAST_MS && run.read > 0 && left > 0
  return { ...run, readInAll, percent, leftMs: hasPace ? (tookMs / run.read) * left : undefined }
}
