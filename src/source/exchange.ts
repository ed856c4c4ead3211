import type { Agent, Dispatcher } from 'undici'
import type { AnswerHeaders } from './answer.ts'
import type { Room } from './byte-budget.ts'

/** One GET, as it is sent. */
export type Request = { origin: string; path: string; headers: Readonly<Record<string, string>> }

export type ExchangeLimits = {
  /** From the first byte sent to the last one received. */
  timeoutMs: number
  /** The most bytes of a body with this status that are worth having. */
  mostBytes: (status: number) => number
  signal: AbortSignal
  /** What the body takes of the process's memory: it is received no faster than there is room. */
  room?: Room | undefined
}

/** What came back, as it came. */
export type Exchanged = {
  status: number
  headers: AnswerHeaders
  bytes: Buffer
  /** Nothing was left out of `bytes`, for being too much or because the connection broke. */
  isWhole: boolean
}

/** No complete answer came within the time. */
export class TimedOut extends Error {}

/**
 * Sends one request and collects its answer. `onAnswered` is told when the status and the headers are there. Rejects with
 * the signal's reason, with TimedOut, or with what undici says of the connection; a body that breaks off is an error only
 * where its status is 200.
 *
 * Chunks are taken as the parser hands them over: through a stream, a page costs half as much again.
 */
export function exchange(
  agent: Agent,
  { origin, path, headers }: Request,
  { timeoutMs, mostBytes, signal, room }: ExchangeLimits,
  onAnswered: () => void,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let answer: { status: number; headers: AnswerHeaders } | undefined
    let [left, isOver] = [0, false]
    let started: Dispatcher.DispatchController | undefined

    const onAbort = () => giveUp(asError(signal.reason))
    const startTimer = () => setTimeout(() => endWith(new TimedOut('no complete answer in time')), timeoutMs)
    let timer = startTimer()
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort)
    agent.dispatch(
      { origin, path, method: 'GET', headers },
      {
        onRequestStart(controller) {
          started = controller
          if (isOver) controller.abort(new Error('given up before it was sent'))
        },
        onResponseStart(_, status, received) {
          // 1xx only announces an answer.
          if (status < 200) return
          answer = { status, headers: received }
          left = mostBytes(status)
          onAnswered()
        },
        onResponseData(controller, chunk) {
          chunks.push(chunk.byteLength > left ? chunk.subarray(0, left) : chunk)
          left -= chunk.byteLength
          if (left < 0) return endWith(new Error('the rest is not worth having'))
          room?.add(chunk.byteLength)
          if (room?.mayGoOn === false) pause(controller, room)
        },
        onResponseEnd: () => finish(true),
        onResponseError: (_, error) => endWith(error),
      },
    )

    /** The time that we keep the service waiting does not count. */
    function pause(controller: Dispatcher.DispatchController, full: Room): void {
      controller.pause()
      clearTimeout(timer)
      full.whenRoom(() => {
        timer = startTimer()
        controller.resume()
      })
    }

    function giveUp(error: Error): void {
      if (isOver) return
      end()
      reject(error)
      started?.abort(error)
    }

    /** Of a page half is nothing; of anything else, and of too much, what has come tells enough. */
    function endWith(error: Error): void {
      if (answer === undefined || (answer.status === 200 && left >= 0)) return giveUp(error)
      finish(false)
      started?.abort(error)
    }

    function finish(isWhole: boolean): void {
      if (isOver) return
      end()
      const [only] = chunks
      const bytes = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)
      if (answer !== undefined) resolve({ ...answer, bytes, isWhole })
    }

    function end(): void {
      isOver = true
      room?.whenRoom(undefined)
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  })
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason })
}
