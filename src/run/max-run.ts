import { MaxRunReached } from '../errors.ts'

export type LimitOptions = {
  organization: string
  /** How long the run may take in all; without it, as long as it takes. */
  maxRunMs?: number | undefined
  monotonicMs: () => number
  /** What ends the run beside. */
  signal: AbortSignal
}

/** The longest a run may take. */
export type RunLimit = {
  /** Aborted with MaxRunReached when the time is up, and with `signal`. */
  signal: AbortSignal
  /** Looks at the clock, which may have moved on while no timer ran: a machine that slept. */
  look(): void
  /** To be called when the run is over. */
  end(): void
}

/** Starts to count at once. */
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
    `${organization}: the run was ended after ${inWords(maxRunMs)}, as maxRun says. What was read so far is saved, and the ` +
      'next run goes on from there. If it happens every night, raise maxRun, concurrency or requestsPerMinute.',
  )
}

/** As the configuration would write it. */
function inWords(ms: number): string {
  const [unitMs, unit] = UNITS.find(([whole]) => ms % whole === 0) ?? [1, 'ms']
  return `${ms / unitMs}${unit}`
}

const UNITS: readonly [number, string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
]
