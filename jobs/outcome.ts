import {
  AccountingBroken,
  ConfigError,
  ContractBroken,
  Interrupted,
  MaxRunReached,
  MirrorUnusable,
  OrganizationHeld,
  RateLimited,
  SourceRefused,
  SourceUnavailable,
  UsageError,
} from '../src/errors.ts'

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
  heldWaitMs: number
  /** How long to leave a mirror alone that is locked, or whose disk is full. */
  mirrorWaitMs: number
}

/** Decides about a job from the error that ended its run, undefined for none. */
export function verdictOf(error: unknown, circumstances: Circumstances): Verdict {
  if (error === undefined) return { kind: 'complete' }
  if (circumstances.lockLost) return { kind: 'abandon' }
  if (error instanceof Interrupted) return { kind: circumstances.stopping ? 'hand-back' : 'abandon' }
  // Its time is up, not its work: others may go first, and no wait counts.
  if (error instanceof MaxRunReached) return circumstances.startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs: SOON_MS }
  if (error instanceof RateLimited) return waitFor(error.waitMs ?? UNNAMED_WAIT_MS, circumstances)
  if (error instanceof OrganizationHeld) return waitFor(circumstances.heldWaitMs, circumstances)
  if (error instanceof SourceUnavailable) return { kind: 'retry', leastMs: error.waitMs ?? 0 }
  if (error instanceof MirrorUnusable) {
    return error.isTemporary ? { kind: 'retry', leastMs: circumstances.mirrorWaitMs } : GIVE_UP
  }
  // A page of a proxy, or half an answer, is often gone a minute later.
  if (error instanceof ContractBroken) return LASTING.has(error.code) ? GIVE_UP : RETRY
  return HOPELESS.some((kind) => error instanceof kind) ? GIVE_UP : RETRY
}

/** Whether a run waits: the service named a time to come back at, or asked to slow down, and its job comes back by itself. */
export function isWaiting(error: unknown, verdict: Verdict): boolean {
  if (error instanceof RateLimited) return verdict.kind === 'wait'
  return error instanceof SourceUnavailable && verdict.kind === 'retry' && verdict.leastMs > 0
}

/** How long to wait before try number `attempts + 1`: exponential, with full jitter, capped. `random` is from 0 to 1. */
export function retryDelayMs(
  attempts: number,
  random: number,
  { firstMs, longestMs }: { firstMs: number; longestMs: number },
): number {
  return Math.round(random * Math.min(longestMs, firstMs * 2 ** (attempts - 1)))
}

function waitFor(waitMs: number, { waitedMs, maxWaitMs, startsLeft }: Circumstances): Verdict {
  return waitedMs + waitMs > maxWaitMs || startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs }
}

const RETRY: Verdict = { kind: 'retry', leastMs: 0 }
const GIVE_UP: Verdict = { kind: 'give-up' }
const UNNAMED_WAIT_MS = 60_000
const SOON_MS = 1000

/** A redirect, or somebody else's customers, are there to stay until the configuration is mended. */
const LASTING: ReadonlySet<string> = new Set(['redirect', 'tenant-mixup'])

const HOPELESS = [SourceRefused, ConfigError, UsageError, AccountingBroken]
