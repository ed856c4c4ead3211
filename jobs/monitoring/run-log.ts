import type { HeldRemovals } from '../../src/store.ts'
import { factsOf, isOurs } from '../../src/errors/errors.ts'
import type { Logger } from '../../src/log.ts'
import type { EndOfQuickRun } from '../run/end-of-quick-run.ts'
import type { RunOfJob } from '../run/sync-job.ts'

/**
 * Logs the outcome of a run in one line, with the number of its organization's removals that wait for a decision and the run that
 * held them back: a warning while there are any, or where old rows could not be deleted. Without `held`, the look-up in the mirror failed.
 */
export function logRun(
  log: Logger,
  { organization, outcome: { report, error }, verdict, isLast }: RunOfJob,
  open: readonly HeldRemovals[] | undefined,
): void {
  const waiting = open?.find((held) => held.organization === organization)
  const held = open === undefined ? {} : { held: waiting?.held ?? 0, heldBy: waiting?.runId }
  const facts = { report, verdict, isLast, ...held }
  const isWell = waiting === undefined && report.pruned?.error === undefined
  if (verdict.kind === 'complete') log[isWell ? 'info' : 'warn'](facts, 'run complete')
  else if (verdict.kind === 'hand-back') log.info(facts, 'run put back into the queue')
  else if (verdict.kind === 'wait' || report.status === 'waiting') log.info(facts, 'run waits in the queue')
  else if (factsOf(error).from === 'cancel') log.info(facts, 'run cancelled')
  else if (verdict.kind === 'abandon') log.warn(facts, 'run left to another worker')
  else if (isOurs(error)) log.error(facts, isLast ? 'run given up' : 'run failed, retry follows')
  else log.error({ ...facts, err: error }, 'run failed unexpectedly')
}

/** Logs the end of a quick job in one line. No failure of it is an error: the next one comes soon, and the night reads everything. */
export function logQuickRun(log: Logger, quickRun: EndOfQuickRun): void {
  const { organization, end } = quickRun
  if (quickRun.end === 'skipped') return log.debug({ organization, why: quickRun.why }, 'quick run left out')
  const { report, error } = quickRun.outcome
  const facts = { organization, end, report }
  if (quickRun.end !== 'failed') log.info(facts, end === 'partial' ? 'quick run complete' : 'quick run stopped')
  else log.warn({ ...facts, ...(!isOurs(error) && { err: error }) }, 'quick run failed')
}

/** Logs that the job of an organization waits, since it is not in the configuration of this worker yet. */
export function logUnknown(log: Pick<Logger, 'warn'>, organization: string): void {
  log.warn({ organization }, 'organization is not in this configuration yet, its job is tried again')
}
