import { isOurs } from '../src/errors.ts'
import type { Logger } from '../src/log.ts'
import type { RunOfJob } from './mirror-organization.ts'

/** What became of a run, in one line. */
export function logRun(log: Logger, { outcome: { report, error }, verdict, isLast }: RunOfJob): void {
  const facts = { report, verdict, isLast }
  if (verdict.kind === 'complete') log.info(facts, 'run complete')
  else if (verdict.kind === 'hand-back') log.info(facts, 'run put back into the queue')
  else if (verdict.kind === 'wait' || report.status === 'waiting') log.info(facts, 'run waits in the queue')
  else if (verdict.kind === 'abandon') log.warn(facts, 'run left to another worker')
  else if (isOurs(error)) log.error(facts, isLast ? 'run given up' : 'run failed, to be tried again')
  else log.error({ ...facts, err: error }, 'run failed unexpectedly')
}
