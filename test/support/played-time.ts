import { setImmediate as nextTurn } from 'node:timers/promises'
import { openSource, type Source, type SourceOptions } from '../../src/source/customers.ts'
import { DEFAULT_PRESET, recipeOf } from '../../src/signing/signing.ts'
import type { Dice } from './dice.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The time of a service and of the program that reads it, which passes only while it is played; the program's wall clock may jump. */
export class PlayedTime {
  trueMs: number
  readonly #dice: Dice
  #wallAheadMs = 0

  constructor(startMs: number, dice: Dice) {
    this.trueMs = startMs
    this.#dice = dice
  }

  /** What the program asks for time and chance. */
  get clocks(): Pick<SourceOptions, 'now' | 'monotonicMs' | 'random'> {
    return {
      now: () => this.trueMs + this.#wallAheadMs,
      monotonicMs: () => this.trueMs,
      random: () => this.#dice.next(),
    }
  }

  /** The time of one answer; seldom seconds. */
  pass({ isJumpy }: { isJumpy: boolean }): void {
    const dice = this.#dice
    this.trueMs += dice.chance(0.02) ? dice.below(20_000) : 10 + dice.below(300)
    if (isJumpy && dice.chance(0.05)) this.#wallAheadMs += (dice.below(13) - 6) * HOUR_MS
  }

  /** A source that waits in this time. */
  openSource({ concurrency, connections }: { concurrency: number; connections: SourceOptions['connections'] }): Source {
    return openSource({
      ...this.clocks,
      settings: {
        baseUrl: new URL('https://service.example/api/v1'),
        signing: recipeOf(DEFAULT_PRESET),
        requestTimeoutMs: MINUTE_MS,
        concurrency,
        maxWaitMs: 15 * MINUTE_MS,
        longestWaitMs: 15 * MINUTE_MS,
      },
      credentials: { apiKey: 'key', secret: 'secret' },
      connections,
      userAgent: 'customer-mirror/test',
      sleep: async (ms, signal) => {
        const untilMs = this.trueMs + ms
        await nextTurn()
        signal.throwIfAborted()
        this.trueMs = Math.max(this.trueMs, untilMs)
      },
    })
  }
}

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
