import type { Origin } from '../../src/errors/error-facts.ts'
import { factsOf, refusalIn } from '../../src/errors/errors.ts'
import type { Wait } from '../../src/status/standing.ts'
import { KINDS, type RunKind } from '../queue/port.ts'

/** The decision about a job after its run. */
export type JobVerdict =
  | { kind: 'complete' }
  /** Continue after `waitMs`. Uses no attempt. */
  | { kind: 'wait'; waitMs: number }
  /** Retry, not before `leastMs`, until the attempts are used up. */
  | { kind: 'retry'; leastMs: number }
  /** A retry would end the same way: a person has to act, or the next night has to come. */
  | { kind: 'give-up' }
  /** The partial run gave way to another run, to its limit or to a person: no failure, and the next one comes soon. */
  | { kind: 'drop' }
  /** Back into the queue, for the worker that starts after this one, or for one of a newer version. Uses no attempt. */
  | { kind: 'hand-back' }
  /** Another worker has the job now. */
  | { kind: 'abandon' }

export type Circumstances = {
  kind: RunKind
  /** How long this job has waited in the queue so far, at the service's request. */
  waitedMs: number
  /** How long it may wait in total. */
  maxWaitMs: number
  startsLeft: number
  stopping: boolean
  lockLost: boolean
  leasedWaitMs: number
  mirrorWaitMs: number
}

/** Decides about a job from the error of its run; undefined for a complete run. */
export function verdictOf(error: unknown, circumstances: Circumstances): JobVerdict {
  if (error === undefined) return { kind: 'complete' }
  if (circumstances.lockLost) return { kind: 'abandon' }
  const { again, from } = factsOf(error)
  if (from === 'stop') return { kind: circumstances.stopping ? 'hand-back' : 'abandon' }
  if (from === 'other-version') return { kind: 'hand-back' }
  if (KINDS[circumstances.kind].isPartial) return GIVES_WAY.has(from) ? { kind: 'drop' } : GIVE_UP
  if (again === 'never') return GIVE_UP
  // It took as long as a run may: other jobs may go first, and the wait does not count.
  if (from === 'limit') return circumstances.startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs: SOON_MS }
  const leastMs = refusalIn(error).waitMs ?? leastMsAfter(from, circumstances)
  return again === 'wait'
    ? waitFor(leastMs ?? UNNAMED_WAIT_MS, circumstances)
    : { kind: 'retry', leastMs: leastMs ?? 0 }
}

/** Whether a run is `waiting`: the service named a time or asked to slow down, and its job continues by itself. */
export function isWaiting(error: unknown, verdict: JobVerdict): boolean {
  const comesBack = verdict.kind === 'wait' || (verdict.kind === 'retry' && verdict.leastMs > 0)
  return comesBack && factsOf(error).from === 'outage'
}

/** What the job of a run waits for that ended with this error. */
export function waitAfter(error: unknown): Wait {
  const { status, waitMs } = refusalIn(error)
  if (waitMs !== undefined) return { why: 'rate-limit', status }
  return { why: factsOf(error).from === 'outage' ? 'outage' : 'retry', status }
}

const GIVES_WAY: ReadonlySet<Origin> = new Set(['other-run', 'limit', 'cancel'])

function leastMsAfter(from: Origin, { leasedWaitMs, mirrorWaitMs }: Circumstances): number | undefined {
  if (from === 'other-run') return leasedWaitMs
  return from === 'mirror' ? mirrorWaitMs : undefined
}

function waitFor(waitMs: number, { waitedMs, maxWaitMs, startsLeft }: Circumstances): JobVerdict {
  return waitedMs + waitMs > maxWaitMs || startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs }
}

const GIVE_UP: JobVerdict = { kind: 'give-up' }
const UNNAMED_WAIT_MS = 60_000
const SOON_MS = 1000
