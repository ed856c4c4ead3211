import { randomUUID } from 'node:crypto'
import type { OpenSharedTurns } from '../../src/run-organization.ts'
import type { Sleep } from '../../src/source/sleep.ts'
import type { SharedLimits } from './shared-limits.ts'
import type { Timings } from '../timings.ts'
import { type LimitEvent, LimitShare } from './limit-share.ts'
import { ReservedTurns } from './reserved-turns.ts'

/**
 * A request arrives a little earlier or later than its turn. So the turns of a minute are spread over this much more, and no 60 s of
 * the service, wherever they begin, hold more requests than the limit.
 */
const MARGIN_MS = 600

/** The rate limits of this worker that it shares with all other workers of its queue. Undefined where it has no other. */
export function sharedTurnsIn(
  limits: SharedLimits | undefined,
  options: {
    timings: Pick<Timings, 'lookMs'>
    monotonicMs: () => number
    sleep?: Sleep | undefined
    onEvent?: ((event: LimitEvent) => void) | undefined
  },
): OpenSharedTurns | undefined {
  if (limits === undefined) return undefined
  const { timings, monotonicMs, sleep, onEvent } = options
  const worker = randomUUID().slice(0, 8)
  return (name, requestsPerMinute) => {
    const spacingMs = requestsPerMinute === undefined ? 0 : (60_000 + MARGIN_MS) / requestsPerMinute
    const { lookMs } = timings
    const share = new LimitShare({ limits, name, spacingMs, worker, monotonicMs, lookMs, onEvent })
    return new ReservedTurns({ share, spacingMs, monotonicMs, sleep })
  }
}
