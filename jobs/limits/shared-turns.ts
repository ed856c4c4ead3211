import { randomUUID } from 'node:crypto'
import type { OpenSharedTurns } from '../../src/run-organization.ts'
import { spacingMs } from '../../src/source/pace/rate-limit.ts'
import type { Sleep } from '../../src/machine/timers.ts'
import type { SharedLimits } from './shared-limits.ts'
import type { Timings } from '../timings.ts'
import { type LimitEvent, LimitShare } from './limit-share.ts'
import { ReservedTurns } from './reserved-turns.ts'

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
    const { lookMs } = timings
    const spaced = { spacingMs: spacingMs(requestsPerMinute), monotonicMs }
    const share = new LimitShare({ limits, name, ...spaced, worker, lookMs, onEvent })
    return new ReservedTurns({ share, ...spaced, sleep })
  }
}
