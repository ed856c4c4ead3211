import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sleep } from '../../src/machine/timers.ts'

export type EventClock = {
  now: () => number
  sleep: Sleep
  /** Advances the clock from one sleeper to the next until `work` ends, and returns its result. */
  play<Result>(work: Promise<Result>): Promise<Result>
}

/** A clock for many that sleep at the same time: when nothing more can happen now, it goes on to the first that wakes. */
export function eventClock(startMs = 0): EventClock {
  let nowMs = startMs
  let sleepers: { atMs: number; wake: () => void }[] = []

  async function sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<void>()
    const sleeper = { atMs: nowMs + ms, wake: resolve }
    const end = () => {
      sleepers = sleepers.filter((other) => other !== sleeper)
      resolve()
    }
    sleepers.push(sleeper)
    signal.addEventListener('abort', end)
    await promise
    signal.removeEventListener('abort', end)
    signal.throwIfAborted()
  }

  async function play<Result>(work: Promise<Result>): Promise<Result> {
    const ended = new AbortController()
    const end = () => ended.abort()
    work.then(end, end)
    for (;;) {
      await nextTurn()
      await nextTurn()
      if (ended.signal.aborted) return work
      const atMs = Math.min(...sleepers.map((sleeper) => sleeper.atMs))
      if (atMs === Infinity) throw new Error('No sleeper is left, and the work has not ended.')
      nowMs = Math.max(nowMs, atMs)
      const awake = sleepers.filter((sleeper) => sleeper.atMs <= nowMs)
      sleepers = sleepers.filter((sleeper) => sleeper.atMs > nowMs)
      for (const { wake } of awake) wake()
    }
  }

  return { now: () => nowMs, sleep, play }
}
