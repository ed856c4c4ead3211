import type { EventEmitter } from 'node:events'
import type { Logger } from '../../src/log.ts'
import { backoffMs } from '../../src/time/backoff.ts'
import { createSparseLog } from '../sparse-log.ts'
import type { Timings } from '../timings.ts'
import { within } from './deadline.ts'
import { codeAndReason, isRefusal } from './queue-refusal.ts'

export type Watching = {
  /** Queues, which report errors. */
  queues: readonly Emitter[]
  /** Workers, which report errors, and are paused while the queue fails. */
  workers: readonly (Emitter & { pause(doNotWaitActive: boolean): Promise<void>; resume(): unknown })[]
  /** Writes to the queue, or rejects with its error. */
  write: () => Promise<void>
  log: Pick<Logger, 'info' | 'warn'>
  timings: Pick<Timings, 'lookMs' | 'firstPauseMs' | 'longestPauseMs' | 'settleMs'>
  monotonicMs: () => number
  /** From 0 to 1. */
  random: () => number
  /** The queue works again, and may have lost its data. */
  onBack: () => void
}

type Emitter = Pick<EventEmitter, 'on'>

/** Workers that failed together do not come back together, and none asks a queue that refuses it again at once. */
const LEAST_SHARE = 0.5

/**
 * Pauses the workers while the queue is lost or refuses writes: BullMQ would retry at once, again and again. Current runs continue.
 *
 *     working ── error ──▶ failing ── written ──▶ trying ── quiet for a while ──▶ working
 *                           ▲  │ not: waits longer  │
 *                           │  ▼ where it refuses   │
 *                           └──────── error ────────┘
 *
 * Each reason is logged at most once a minute, although clients report every attempt to reconnect, and the end once. Only the code and the
 * first line of an error are logged, because errors contain commands with passwords.
 */
export function watchQueue({ queues, workers, write, log, timings, ...watching }: Watching): { stop: () => void } {
  const { monotonicMs, random, onBack } = watching
  const lost = createSparseLog((fields) => log.warn(fields, 'queue lost'), monotonicMs)
  const refused = createSparseLog((fields) => log.warn(fields, 'queue error'), monotonicMs)
  let state: 'working' | 'failing' | 'trying' | 'stopped' = 'working'
  let isLost = false
  /** Whether a loss was logged that is not over. */
  let isLossLogged = false
  let tries = 1
  let timer: NodeJS.Timeout | undefined

  for (const queue of queues) queue.on('error', failed)
  for (const worker of workers) worker.on('error', (error: unknown) => !isOfOneJob(error) && failed(error))

  function failed(error: unknown): void {
    if (state === 'stopped') return
    report(error)
    if (state === 'failing') return
    if (state === 'trying' && !isLost) tries += 1
    state = 'failing'
    for (const worker of workers) worker.pause(true).catch(report)
    wait()
  }

  function report(error: unknown): void {
    isLost = !isRefusal(error)
    // The clients of a lost queue report each in its own words.
    if (isLost) isLossLogged = lost.report('lost', { reason: codeAndReason(error) }) || isLossLogged
    else refused.report(codeAndReason(error))
  }

  function wait(): void {
    const { lookMs, firstPauseMs: firstMs, longestPauseMs: longestMs } = timings
    schedule(() => void ask(), isLost ? lookMs : backoffMs(tries, random(), { firstMs, longestMs, least: LEAST_SHARE }))
  }

  async function ask(): Promise<void> {
    const asked = write().then(
      () => 'written' as const,
      (error: unknown) => {
        if (state === 'failing') report(error)
        return 'refused' as const
      },
    )
    const answer = await within(asked, isLost ? timings.lookMs : timings.longestPauseMs, 'late' as const)
    if (state !== 'failing') return
    if (answer === 'written') return resume()
    if (!isLost) tries += 1
    wait()
  }

  function resume(): void {
    const wasLost = isLost
    if (isLossLogged) log.info('queue back')
    isLossLogged = false
    if (wasLost) onBack()
    state = 'trying'
    schedule(() => settle(wasLost), timings.settleMs)
    for (const worker of workers) if (isTrying()) worker.resume()
  }

  /** Whether the workers were just resumed: a failure then pauses them again. */
  function isTrying(): boolean {
    return state === 'trying'
  }

  function settle(wasLost: boolean): void {
    state = 'working'
    tries = 1
    if (wasLost) return
    log.info({ leftOut: refused.forget() }, 'queue works again')
    onBack()
  }

  function schedule(work: () => void, ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(work, ms)
  }

  return {
    stop: () => {
      state = 'stopped'
      clearTimeout(timer)
    },
  }
}

/** Whether the queue refused what a worker said of a job that it has lost: the line about its run says so, or that of the one who has it. */
function isOfOneJob(error: unknown): boolean {
  return (
    error instanceof Error && /^(could not renew lock|missing (lock|key)|lock mismatch|job \S+ )/i.test(error.message)
  )
}
