import type { WellFor } from './checks/due-times.ts'

/** Looks at the soak again and again, and knows for how long all that a run needs was there. */
export type Health = { wellFor: WellFor; stop: () => void }

type Look = { atMs: number; wellMs: number }

/** A look counts for at most twice the time between two: where the machine is too busy to look, nothing is expected of workers either. */
export function watchHealth(isWell: () => boolean, now: () => number): Health {
  const looks: Look[] = [{ atMs: now(), wellMs: 0 }]
  const timer = setInterval(() => {
    const atMs = now()
    const since = atMs - (looks.at(-1)?.atMs ?? atMs)
    looks.push({ atMs, wellMs: isWell() ? Math.min(since, 2 * LOOK_MS) : 0 })
  }, LOOK_MS).unref()
  return {
    wellFor: (fromMs, toMs) =>
      looks.filter(({ atMs }) => fromMs < atMs && atMs <= toMs).reduce((sum, { wellMs }) => sum + wellMs, 0),
    stop: () => clearInterval(timer),
  }
}

const LOOK_MS = 250
