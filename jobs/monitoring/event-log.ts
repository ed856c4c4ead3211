import type { Logger } from '../../src/log.ts'
import type { Listener } from '../run/sync-job.ts'
import { QUIET_MS } from './sparse-log.ts'

/**
 * Logs what slows runs down. While the server of the mirror is away, each run asks it again every few seconds: of these waits one is
 * logged in a minute, with the number of those left out.
 */
export function createEventLog(log: Pick<Logger, 'info'>, monotonicMs: () => number): NonNullable<Listener['onEvent']> {
  let awayLoggedMs = -Infinity
  let leftOut = 0
  return (organization, event) => {
    if (event.kind !== 'waiting' || event.reason !== 'mirror-gone') return log.info({ organization, event }, SLOWED)
    if (monotonicMs() - awayLoggedMs < QUIET_MS) {
      leftOut += 1
      return
    }
    awayLoggedMs = monotonicMs()
    log.info({ organization, event, ...(leftOut > 0 && { leftOut }) }, SLOWED)
    leftOut = 0
  }
}

const SLOWED = 'run slowed down'
