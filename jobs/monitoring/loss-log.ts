import type { Logger } from '../../src/log.ts'
import { QUIET_MS } from '../sparse-log.ts'

/** Reports losses of the queue, and their ends, unless one was reported less than a minute ago; one that lasts is reported then. */
export function createLossLog(log: Pick<Logger, 'info' | 'warn'>, monotonicMs: () => number) {
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
