import type { Logger } from '../../src/log.ts'
import type { Listener } from '../run/sync-job.ts'
import { createSparseLog } from '../sparse-log.ts'

/**
 * Logs what slows runs down. While the server of the mirror is away, each run asks it again every few seconds: of these waits one is
 * logged in a minute, with the number of those left out.
 */
export function createEventLog(log: Pick<Logger, 'info'>, monotonicMs: () => number): NonNullable<Listener['onEvent']> {
  const write = (facts: object) => log.info(facts, 'run slowed down')
  const away = createSparseLog<object>(({ leftOut }, facts) => write({ ...facts, leftOut }), monotonicMs)
  return (organization, event) => {
    if (event.kind === 'waiting' && event.reason === 'mirror-gone') away.report(event.reason, { organization, event })
    else write({ organization, event })
  }
}
