import type { EventEmitter } from 'node:events'
import type { Logger } from '../src/log.ts'
import { within } from './deadline.ts'

export type Watching = {
  /** Queues and workers, which tell of errors. */
  emitters: readonly Pick<EventEmitter, 'on'>[]
  ping: () => Promise<void>
  log: Pick<Logger, 'info' | 'warn'>
  lookMs: number
  /** The queue is there again, and may have forgotten everything. */
  onBack: () => void
}

/**
 * Says once that the queue was lost, and once that it is back: its clients report every attempt to reconnect. Errors are
 * told by code and first line alone, as they carry commands with passwords in them.
 */
export function watchQueue({ emitters, ping, log, lookMs, onBack }: Watching): { stop: () => void } {
  let lost: NodeJS.Timeout | undefined
  let stopped = false
  for (const emitter of emitters) emitter.on('error', tell)

  function tell(error: unknown): void {
    const reason = told(error)
    if (!isOutage(reason)) log.warn({ reason }, 'queue error')
    else if (lost === undefined && !stopped) {
      log.warn({ reason }, 'queue lost')
      lost = setInterval(() => void look(), lookMs)
    }
  }

  async function look(): Promise<void> {
    const answer = await within(
      ping().then(() => 'back'),
      lookMs,
      'lost',
    ).catch(() => 'lost')
    if (answer === 'lost' || lost === undefined) return
    stopLooking()
    log.info('queue back')
    onBack()
  }

  function stopLooking(): void {
    clearInterval(lost)
    lost = undefined
  }

  return {
    stop: () => {
      stopped = true
      stopLooking()
    },
  }
}

/** An error in a few words without what it carries. */
export function told(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return `${code}: ${(error.message.split('\n')[0] ?? '').slice(0, 200)}`
}

function isOutage(reason: string): boolean {
  return /ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P0|Connection (is closed|terminated)|LOADING|timeout exceeded|READONLY/i.test(
    reason,
  )
}
