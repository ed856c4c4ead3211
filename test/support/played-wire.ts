import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import type { Sleep } from '../../src/machine/timers.ts'
import { DEFAULT_PRESET, recipeOf } from '../../src/signing/signing.ts'
import type { Connections } from '../../src/source/connection.ts'
import { openSource, type Source, type SourceOptions } from '../../src/source/customers.ts'
import type { Dice } from './dice.ts'
import { HOUR_MS } from './builders.ts'

/** The time of a service and of the program that reads it, which passes only while it is played; the program's wall clock may jump. */
export class PlayedTime {
  trueMs: number
  readonly #dice: Dice
  #wallAheadMs = 0

  constructor(startMs: number, dice: Dice) {
    this.trueMs = startMs
    this.#dice = dice
  }

  get clocks(): Pick<SourceOptions, 'now' | 'monotonicMs' | 'random'> {
    const now = () => this.trueMs + this.#wallAheadMs
    return { now, monotonicMs: () => this.trueMs, random: () => this.#dice.next() }
  }

  /** The time of one answer; seldom seconds. */
  pass({ isJumpy }: { isJumpy: boolean }): void {
    const dice = this.#dice
    this.trueMs += dice.chance(0.02) ? dice.below(20_000) : 10 + dice.below(300)
    if (isJumpy && dice.chance(0.05)) this.#wallAheadMs += (dice.below(13) - 6) * HOUR_MS
  }

  openSource({ concurrency, connections }: { concurrency: number; connections: SourceOptions['connections'] }): Source {
    return openSource({
      ...this.clocks,
      settings: {
        ...{ baseUrl: new URL('https://service.example/api/v1'), signing: recipeOf(DEFAULT_PRESET), concurrency },
        ...{ requestTimeoutMs: 60_000, maxWaitMs: 900_000, longestWaitMs: 900_000 },
      },
      credentials: { apiKey: 'key', secret: 'secret' },
      ...{ connections, userAgent: 'customer-mirror/test', sleep: this.sleep },
    })
  }

  readonly sleep: Sleep = async (ms, signal) => {
    const untilMs = this.trueMs + ms
    await nextTurn()
    signal.throwIfAborted()
    this.advanceTo(untilMs)
  }

  advanceTo(ms: number): void {
    this.trueMs = Math.max(this.trueMs, ms)
  }

  setRight(): void {
    this.#wallAheadMs = 0
  }
}

/** Timers that count turns of the event loop, however busy: short ones fire after a few, long ones never. Returns what ends that. */
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

/** One answer on the wire; `broken` if the connection ends instead. */
export type WireAnswer = { status: number; headers: Record<string, string>; body: string | Buffer; broken?: boolean }
/** A request; the same `key` for the same address. */
export type Asked = { page: number; size: number; search: string | undefined; key: string }

type Handler = Dispatcher.DispatchHandler
type Request = { asked: Asked; handler: Handler; answer?: WireAnswer }

/** Replaces the agent of undici: requests are answered, and answers arrive, in any order. `moved` is called after each event. */
export function wireTo(answer: (asked: Asked) => WireAnswer, moved: () => void, dice: Dice): Connections {
  const underWay: Request[] = []
  let isMoving = false

  const move = () => {
    isMoving = false
    const at = dice.below(underWay.length)
    const request = underWay[at]
    if (request === undefined) return
    moved()
    if (request.answer === undefined) request.answer = answer(request.asked)
    else {
      underWay.splice(at, 1)
      deliver(request.handler, request.answer)
    }
    go()
  }
  const go = () => {
    if (isMoving || underWay.length === 0) return
    isMoving = true
    setImmediate(move)
  }
  return {
    dispatch({ path }, handler): boolean {
      const query = new URLSearchParams(path.slice(path.indexOf('?')))
      const search = query.get('search') ?? undefined
      const asked = { page: Number(query.get('page')), size: Number(query.get('per_page')), search, key: path }
      handler.onRequestStart?.(CONTROLLER, {})
      underWay.push({ asked, handler })
      go()
      return true
    },
  }
}

function deliver(handler: Handler, { status, headers, body, broken }: WireAnswer): void {
  if (broken === true) return handler.onResponseError?.(CONTROLLER, new Error('socket hang up'))
  handler.onResponseStart?.(CONTROLLER, status, headers, '')
  handler.onResponseData?.(CONTROLLER, Buffer.from(body))
  handler.onResponseEnd?.(CONTROLLER, {})
}

const CONTROLLER: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort() {},
  pause() {},
  resume() {},
}
