import type { EventEmitter } from 'node:events'
import type { Logger } from '../../src/log.ts'
import { succeedsWithin } from './deadline.ts'
import { WorkerPauses, type Pausing } from './pause-workers.ts'
import { codeAndReason, isRefusal } from './queue-refusal.ts'
import { createSparseLog, QUIET_MS } from '../sparse-log.ts'
import type { Timings } from '../timings.ts'

export type Watching = Pick<Pausing, 'write' | 'random'> & {
  /** Queues, which report errors. */
  queues: readonly Emitter[]
  /** Workers, which report errors, and are paused while the queue fails. */
  workers: readonly (Emitter & Pausing['workers'][number])[]
  ping: () => Promise<void>
  log: Pick<Logger, 'info' | 'warn'>
  timings: Pick<Timings, 'lookMs'> & Pausing['timings']
  monotonicMs: () => number
  /** The queue is back, and may have lost its data. */
  onBack: () => void
  /** The queue refused another write. */
  onRefused?: ((error: unknown) => void) | undefined
}

type Emitter = Pick<EventEmitter, 'on'>

/**
 * Logs once that the queue was lost, and once that it is back, although its clients report every attempt to reconnect; where it is lost
 * again and again, once a minute. Other errors are logged at most once a minute, and while the queue refuses writes, the workers are
 * paused. Only the code and the first line of an error are logged, because errors contain commands with passwords.
 */
export function watchQueue(watching: Watching): { stop: () => void } {
  const { queues, workers, ping, write, log, timings, random, monotonicMs, onBack, onRefused } = watching
  const sparse = createSparseLog((fields) => log.warn(fields, 'queue error'), monotonicMs)
  const losses = createLossLog(log, monotonicMs)
  let lost: NodeJS.Timeout | undefined
  let stopped = false
  const pauses = new WorkerPauses({
    ...{ workers, write, timings, random },
    onRefused: (error) => {
      report(error)
      if (isRefusal(error)) onRefused?.(error)
    },
    onSettled: () => {
      log.info({ leftOut: sparse.forget() }, 'queue works again')
      onBack()
    },
  })
  for (const queue of queues) queue.on('error', report)
  for (const worker of workers) {
    worker.on('error', (error: unknown) => {
      if (isOfOneJob(error)) return
      report(error)
      pauses.failed()
    })
  }

  function report(error: unknown): void {
    const reason = codeAndReason(error)
    if (isRefusal(error)) sparse.report(reason)
    else if (lost === undefined && !stopped) {
      losses.lost(reason)
      lost = setInterval(() => void look(), timings.lookMs)
    }
  }

  async function look(): Promise<void> {
    const isBack = await succeedsWithin(ping(), timings.lookMs)
    if (lost === undefined) return
    if (!isBack) return losses.stillLost()
    stopLooking()
    losses.back()
    pauses.askNow()
    onBack()
  }

  function stopLooking(): void {
    clearInterval(lost)
    lost = undefined
  }

  return {
    stop: () => {
      stopped = true
      pauses.stop()
      stopLooking()
    },
  }
}

/** Whether the queue refused what a worker said of a job that it has lost: the line about its run says so, or that of the one who has it. */
function isOfOneJob(error: unknown): boolean {
  return (
    error instanceof Error && /^(could not renew lock|missing (lock|key)|lock mismatch|job \S+ )/i.test(error.message)
  )
}

/** Reports losses of the queue, and their ends, unless one was reported less than a minute ago; one that lasts is reported then. */
function createLossLog(log: Pick<Logger, 'info' | 'warn'>, monotonicMs: () => number) {
  let reportedMs = -Infinity
  let leftOut = 0
  let unreported: string | undefined

  function stillLost(): void {
    if (unreported === undefined || monotonicMs() - reportedMs < QUIET_MS) return
    log.warn({ reason: unreported, ...(leftOut > 0 && { leftOut }) }, 'queue lost')
    reportedMs = monotonicMs()
    leftOut = 0
    unreported = undefined
  }

  return {
    lost: (reason: string) => {
      unreported = reason
      stillLost()
    },
    stillLost,
    back: () => {
      if (unreported === undefined) log.info('queue back')
      else leftOut += 1
      unreported = undefined
    },
  }
}
