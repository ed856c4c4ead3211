import type { EventEmitter } from 'node:events'
import type { Logger } from '../../src/log.ts'
import { within } from './deadline.ts'
import { pauseWorkers, type Pausing } from './pause-workers.ts'
import { codeAndReason, isRefusal } from './queue-refusal.ts'
import { createSparseLog } from '../monitoring/sparse-log.ts'
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
  /** The queue is there again, and may have forgotten everything. */
  onBack: () => void
  /** The queue was asked again, and refused to be written. */
  onRefused?: ((error: unknown) => void) | undefined
}

type Emitter = Pick<EventEmitter, 'on'>

/**
 * Says once that the queue was lost, and once that it is back: its clients report every attempt to reconnect. Any other error is
 * reported once a minute at most, and while the queue refuses to be written, the workers are paused. Errors are reported by code and
 * first line alone, as they carry commands with passwords in them.
 */
export function watchQueue(watching: Watching): { stop: () => void } {
  const { queues, workers, ping, write, log, timings, random, monotonicMs, onBack, onRefused } = watching
  const sparse = createSparseLog((fields) => log.warn(fields, 'queue error'), monotonicMs)
  let lost: NodeJS.Timeout | undefined
  let stopped = false
  const pauses = pauseWorkers({
    ...{ workers, write, timings, random },
    onRefused: (error) => {
      tell(error)
      if (isRefusal(error)) onRefused?.(error)
    },
    onSettled: () => {
      log.info({ leftOut: sparse.forget() }, 'queue works again')
      onBack()
    },
  })
  for (const queue of queues) queue.on('error', tell)
  for (const worker of workers) {
    worker.on('error', (error: unknown) => {
      tell(error)
      if (!isOfOneJob(error)) pauses.failed()
    })
  }

  function tell(error: unknown): void {
    const reason = codeAndReason(error)
    if (isRefusal(error)) sparse.report(reason)
    else if (lost === undefined && !stopped) {
      log.warn({ reason }, 'queue lost')
      lost = setInterval(() => void look(), timings.lookMs)
    }
  }

  async function look(): Promise<void> {
    const answer = await within(
      ping().then(() => 'back'),
      timings.lookMs,
      'lost',
    ).catch(() => 'lost')
    if (answer === 'lost' || lost === undefined) return
    stopLooking()
    log.info('queue back')
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

/** Whether an error is about one job, such as a lock that was lost, and says nothing about the others. */
function isOfOneJob(error: unknown): boolean {
  return (
    error instanceof Error && /^(could not renew lock|missing (lock|key)|lock mismatch|job \S+ )/i.test(error.message)
  )
}
