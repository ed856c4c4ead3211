/** The largest harmless difference between clocks, in milliseconds. */
export const LARGEST_STEP_MS = 2 * 3_600_000

/** Whether a moment lies so far after `nowMs` that a wrong clock has dated it. Both in Unix milliseconds. */
export function isFarAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + LARGEST_STEP_MS
}
