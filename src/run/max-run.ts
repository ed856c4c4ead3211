import { MaxRunReached } from '../errors/errors.ts'
import { durationText } from '../time/duration-text.ts'

export type LimitOptions = {
  organization: string
  /** How long the run may take in total; undefined means no limit. */
  maxRunMs?: number | undefined
  monotonicMs: () => number
  /** The caller's signal, which ends the run too. */
  signal: AbortSignal
}

/** The time limit of a run. */
export type RunLimit = {
  /** Aborted with MaxRunReached when the time is up, and with `signal`. */
  signal: AbortSignal
  /** Checks the clock: no timer fires while the machine sleeps. */
  look(): void
  /** Call it when the run is over. */
  end(): void
}

/** Starts the limit at once. */
export function limitRun({ organization, maxRunMs, monotonicMs, signal }: LimitOptions): RunLimit {
  if (maxRunMs === undefined) return { signal, look: () => {}, end: () => {} }
  const startMs = monotonicMs()
  const over = new AbortController()
  const timeIsUp = () => over.abort(reached(organization, maxRunMs))
  const timer = setTimeout(timeIsUp, maxRunMs)
  return {
    signal: AbortSignal.any([signal, over.signal]),
    look() {
      if (monotonicMs() - startMs >= maxRunMs) timeIsUp()
    },
    end: () => clearTimeout(timer),
  }
}

function reached(organization: string, maxRunMs: number): MaxRunReached {
  return new MaxRunReached(
    `${organization}: the run was ended after ${durationText(maxRunMs)}, as maxRun says. What was read so far is saved, and the ` +
      'next run goes on from there. If it happens every night, raise maxRun, concurrency or requestsPerMinute.',
  )
}
