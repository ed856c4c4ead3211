import type { Agent, Dispatcher } from 'undici'
import type { AnswerHeaders } from './answer.ts'
import type { Room } from './byte-budget.ts'

/** One GET, as it is sent. */
export type Request = { origin: string; path: string; headers: Readonly<Record<string, string>> }

export type ExchangeLimits = {
  /** From the first byte sent to the last one received. */
  timeoutMs: number
  /** How many bytes of a body with this status are read at most. */
  mostBytes: (status: number) => number
  signal: AbortSignal
  /** The memory that the body takes of the process: it is received no faster than there is room. */
  room?: Room | undefined
}

/** What came back, as it came. */
export type Exchanged = {
  status: number
  headers: AnswerHeaders
  bytes: Buffer
  /** False when `bytes` is cut short, because the body was too large or the connection broke. */
  isWhole: boolean
}

/** No complete answer came within the time. */
export class TimedOut extends Error {}

/**
 * Sends one request and collects its answer. Calls `onAnswered` when the status and the headers are there. Rejects with the
 * signal's reason, with TimedOut, or with undici's error for the connection; a body that breaks off is an error only if its
 * status is 200.
 *
 * Chunks are taken as the parser hands them over: through a stream, a page costs half as much again.
 */
export function exchange(
  agent: Agent,
  { origin, path, headers }: Request,
  limits: ExchangeLimits,
  onAnswered: () => void,
): Promise<Exchanged> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchanged>()
  if (limits.signal.aborted) {
    reject(asError(limits.signal.reason))
    return promise
  }
  const handler = new AnswerCollector(limits, { onAnswered, resolve, reject })
  agent.dispatch({ origin, path, method: 'GET', headers }, handler)
  return promise
}

type Followers = {
  onAnswered: () => void
  resolve: (exchanged: Exchanged) => void
  reject: (error: Error) => void
}

/**
 * Collects one answer for undici, chunk by chunk:
 *
 *              headers                last byte; or too many bytes, or the body of an error breaks off
 *   ──▶ sent ──────────▶ receiving ──────────────────────────────────────────────▶ over: resolved
 *         │               │   ▲ │
 *         │       no room │   │ │ room again
 *         │               ▼   │ │
 *         │               paused│
 *         │                     │  abort, time, or a page breaks off
 *         └─────────────────────┴────────────────────────────────────────────────▶ over: rejected
 *
 * The time that a pause keeps the service waiting does not count.
 */
class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits
  readonly #followers: Followers
  readonly #chunks: Buffer[] = []
  readonly #abort = () => this.#giveUp(asError(this.#limits.signal.reason))
  /** Undefined until the request is sent. */
  #controller: Dispatcher.DispatchController | undefined
  /** Undefined until the headers are there. */
  #answer: { status: number; headers: AnswerHeaders } | undefined
  /** Bytes of the body that may still come. */
  #bytesLeft = 0
  #timer: NodeJS.Timeout
  #isOver = false

  constructor(limits: ExchangeLimits, followers: Followers) {
    this.#limits = limits
    this.#followers = followers
    this.#timer = this.#startTimer()
    limits.signal.addEventListener('abort', this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(new Error('given up before it was sent'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // 1xx only announces an answer.
    if (status < 200) return
    this.#answer = { status, headers }
    this.#bytesLeft = this.#limits.mostBytes(status)
    this.#followers.onAnswered()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { room } = this.#limits
    this.#chunks.push(chunk.byteLength > this.#bytesLeft ? chunk.subarray(0, this.#bytesLeft) : chunk)
    this.#bytesLeft -= chunk.byteLength
    if (this.#bytesLeft < 0) return this.#breakOff(new Error('the rest is not read'))
    room?.add(chunk.byteLength)
    if (room?.mayGoOn === false) this.#pause(controller, room)
  }

  onResponseEnd(): void {
    this.#finish({ isWhole: true })
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#breakOff(error)
  }

  #startTimer(): NodeJS.Timeout {
    return setTimeout(() => this.#breakOff(new TimedOut('no complete answer in time')), this.#limits.timeoutMs)
  }

  #pause(controller: Dispatcher.DispatchController, full: Room): void {
    controller.pause()
    clearTimeout(this.#timer)
    full.whenRoom(() => {
      this.#timer = this.#startTimer()
      controller.resume()
    })
  }

  /** A truncated page is an error. A truncated error body is still useful, and so is the fact that a page is too large. */
  #breakOff(error: Error): void {
    const isTruncatedPage = this.#answer?.status === 200 && this.#bytesLeft >= 0
    if (this.#answer === undefined || isTruncatedPage) return this.#giveUp(error)
    this.#finish({ isWhole: false })
    this.#controller?.abort(error)
  }

  #giveUp(error: Error): void {
    if (this.#isOver) return
    this.#end()
    this.#followers.reject(error)
    this.#controller?.abort(error)
  }

  #finish({ isWhole }: { isWhole: boolean }): void {
    if (this.#isOver) return
    this.#end()
    const [only] = this.#chunks
    const bytes = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks)
    if (this.#answer !== undefined) this.#followers.resolve({ ...this.#answer, bytes, isWhole })
  }

  #end(): void {
    this.#isOver = true
    this.#limits.room?.whenRoom(undefined)
    clearTimeout(this.#timer)
    this.#limits.signal.removeEventListener('abort', this.#abort)
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason })
}
