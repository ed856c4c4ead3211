import type { Origin } from '../../src/error-facts.ts'
import { factsOf, namedWaitMs } from '../../src/errors.ts'

/** What becomes of a job after a run. */
export type Verdict =
  | { kind: 'complete' }
  /** Come back after so long. Uses no attempt. */
  | { kind: 'wait'; waitMs: number }
  /** Try again, no sooner than this, until the attempts are used up. */
  | { kind: 'retry'; leastMs: number }
  /** Trying again would end the same way: a person has to act, or the next night has to come. */
  | { kind: 'give-up' }
  /** Back into the queue, for the worker that starts after this one. Uses no attempt. */
  | { kind: 'hand-back' }
  /** The job is another worker's by now. */
  | { kind: 'abandon' }

export type Circumstances = {
  /** How long this job has waited in the queue so far because it was told to. */
  waitedMs: number
  /** How long it may in all. */
  maxWaitMs: number
  /** How often it may be started again. */
  startsLeft: number
  /** Whether this worker is stopping. */
  stopping: boolean
  /** Whether the lock of the job was lost. */
  lockLost: boolean
  /** How long to leave an organization alone that another run holds. */
  leasedWaitMs: number
  /** How long to leave a mirror alone that is locked, or whose disk is full. */
  mirrorWaitMs: number
}

/** Decides about a job from the error that ended its run, undefined for none. */
export function verdictOf(error: unknown, circumstances: Circumstances): Verdict {
  if (error === undefined) return { kind: 'complete' }
  if (circumstances.lockLost) return { kind: 'abandon' }
  const { again, from } = factsOf(error)
  if (from === 'stop') return { kind: circumstances.stopping ? 'hand-back' : 'abandon' }
  if (again === 'never') return GIVE_UP
  // Its time is up, not its work: others may go first, and no wait counts.
  if (from === 'limit') return circumstances.startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs: SOON_MS }
  const leastMs = namedWaitMs(error) ?? leastMsAfter(from, circumstances)
  return again === 'wait'
    ? waitFor(leastMs ?? UNNAMED_WAIT_MS, circumstances)
    : { kind: 'retry', leastMs: leastMs ?? 0 }
}

/** Whether a run waits: the service named a time to come back at, or asked to slow down, and its job comes back by itself. */
export function isWaiting(error: unknown, verdict: Verdict): boolean {
  const comesBack = verdict.kind === 'wait' || (verdict.kind === 'retry' && verdict.leastMs > 0)
  return comesBack && factsOf(error).from === 'outage'
}

function leastMsAfter(from: Origin, { leasedWaitMs, mirrorWaitMs }: Circumstances): number | undefined {
  if (from === 'other-run') return leasedWaitMs
  return from === 'mirror' ? mirrorWaitMs : undefined
}

function waitFor(waitMs: number, { waitedMs, maxWaitMs, startsLeft }: Circumstances): Verdict {
  return waitedMs + waitMs > maxWaitMs || startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs }
}

const GIVE_UP: Verdict = { kind: 'give-up' }
const UNNAMED_WAIT_MS = 60_000
const SOON_MS = 1000
