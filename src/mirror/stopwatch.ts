/** Milliseconds since the start, never negative. */
export type Stopwatch = (nowMs: number) => number

/** Measures by the monotonic clock; without it, by the wall clock, which may be set back meanwhile. */
export function startStopwatch(startedAtMs: number, monotonicMs: (() => number) | undefined): Stopwatch {
  if (monotonicMs === undefined) return (nowMs) => Math.max(0, nowMs - startedAtMs)
  const startMs = monotonicMs()
  return () => monotonicMs() - startMs
}
