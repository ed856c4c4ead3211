import { hrtime } from 'node:process'

/**
 * Whole milliseconds by the clock that nothing sets: it never goes back and never jumps, whatever becomes of the wall clock. It
 * counts from the start of the machine, so all processes there read the same. Only the programs' edges call it; all else is
 * given it.
 */
export function monotonicMs(): number {
  return Number(hrtime.bigint() / 1_000_000n)
}
