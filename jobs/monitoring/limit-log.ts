import type { Logger } from '../../src/log.ts'
import { codeAndReason } from '../queue/queue-refusal.ts'
import type { LimitEvent } from '../limits/limit-share.ts'

/** Logs once that a rate limit which all workers share was lost, and once that it is back. */
export function logLimit(log: Pick<Logger, 'info' | 'warn'>, event: LimitEvent): void {
  const { limit } = event
  if (event.kind === 'limit-back') return log.info({ limit }, 'shared rate limit is back')
  const { workers, error } = event
  log.warn(
    { limit, workers, reason: codeAndReason(error) },
    'shared rate limit is away, each worker takes its share of it',
  )
}
