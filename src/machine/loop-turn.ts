import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work that takes so long is begun in one turn of the event loop; more of it waits for a later turn. */
const WORK_MS = 20

/** When the first work of this turn began. */
let beganMs: number | undefined

/**
 * Waits for a turn of the event loop that has time for a piece of work. The answers to many runs come together: if all of them were
 * processed in one turn, timers, health checks and other answers would wait for seconds.
 */
export async function turnWithTime(monotonicMs: () => number): Promise<void> {
  do await nextTurn()
  while (isFull(monotonicMs()))
}

function isFull(nowMs: number): boolean {
  if (beganMs !== undefined) return nowMs - beganMs >= WORK_MS
  beganMs = nowMs
  // Called at the beginning of the next turn, before the work that waits for it: that work goes to the end of the queue.
  setImmediate(() => (beganMs = undefined))
  return false
}
