/**
 * The monotonic clock, in whole milliseconds: it never goes back or jumps, even if the wall clock is set. It counts from the
 * start of the machine, so all its processes read the same value. Only entry points call it; all other code receives it as an
 * argument.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
