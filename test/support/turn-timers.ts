/**
 * Timers that count turns of the event loop instead of milliseconds, so that a busy machine makes no difference: a short timer
 * fires after a few turns, a long one never. Returns a function that restores the real timers.
 */
export function countTurns(): () => void {
  const { setTimeout, clearTimeout } = globalThis
  const ours = new Set<unknown>()
  const start = (callback: () => void, ms = 0) => {
    let round = 0
    const timer = {
      refresh() {
        const mine = ++round
        if (ms < LONG_MS) afterTurns(SHORT_TURNS, () => mine === round && callback())
        return timer
      },
      stop: () => (round += 1),
    }
    ours.add(timer)
    return timer.refresh()
  }
  const stop = (timer: ReturnType<typeof start> | undefined) => {
    if (ours.delete(timer)) timer?.stop()
  }
  Object.assign(globalThis, { setTimeout: start, clearTimeout: stop })
  return () => Object.assign(globalThis, { setTimeout, clearTimeout })
}

const LONG_MS = 100
const SHORT_TURNS = 4

function afterTurns(turns: number, callback: () => void): void {
  setImmediate(() => (turns === 0 ? callback() : afterTurns(turns - 1, callback)))
}
