import { KINDS } from '../queue/port.ts'
import { factsOf, isOurs } from '../../src/errors/errors.ts'
import type { Logger } from '../../src/machine/log.ts'
import { hasChangedCustomers } from '../../src/model/report.ts'
import type { HeldRemovals } from '../../src/model/mirror.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { isoTime } from '../../src/time/moments.ts'
import type { Listener, NoRunOfJob, RunOfJob } from '../run-job.ts'
import { onceAMinute } from '../queue/queue-faults.ts'
import type { Metrics } from './metrics.ts'

/** Counts and logs what runs do, and has the copies follow them. */
export function createListener(parts: {
  metrics: Metrics
  mirror: Pick<Mirror, 'listHeldRemovals'>
  publisher: { runEnded: () => void; compareSoon: () => void }
  log: Logger
  monotonicMs: () => number
}): Listener {
  const { metrics, mirror, publisher, log, monotonicMs } = parts
  const slowedDown = (facts: object) => log.info(facts, 'run slowed down')
  // Each run asks for a mirror whose server is away every few seconds.
  const mirrorGone = onceAMinute(slowedDown, monotonicMs)
  return {
    onEvent: (organization, event) => {
      const write = event.kind === 'waiting' && event.reason === 'mirror-gone' ? mirrorGone : slowedDown
      write({ organization, event })
    },
    onAnswer: (organization, answer) => metrics.countAnswer(organization, answer),
    onRun: (run) => {
      metrics.countRun(run)
      if (KINDS[run.kind].isPartial) {
        if (hasChangedCustomers(run.outcome.report)) publisher.compareSoon()
        return logPartialRun(log, run)
      }
      publisher.runEnded()
      const held = mirror.listHeldRemovals().catch(() => undefined)
      void held.then((open) => logRun(log, run, open))
    },
    onNoRun: (noRun) => {
      if (KINDS[noRun.kind].isPartial) metrics.countSkipped()
      logNoRun(log, noRun)
    },
  }
}

/** Logs the outcome of a run, with its organization's removals that wait for a decision: a warning while there are any. */
export function logRun(log: Logger, run: RunOfJob, open: readonly HeldRemovals[] | undefined): void {
  const { verdict, isLast } = run
  const { report, error } = run.outcome
  const waiting = open?.find(({ organization }) => organization === report.organization)
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

/** No failure of a partial run is an error: the next one comes soon, and the night reads everything. */
function logPartialRun(log: Logger, { kind, outcome: { report, error }, verdict }: RunOfJob): void {
  const facts = { report, verdict }
  const { name } = KINDS[kind]
  if (verdict.kind === 'complete') log.info(facts, `${name} run complete`)
  else if (verdict.kind !== 'give-up') log.info(facts, `${name} run stopped`)
  else log.warn({ ...facts, ...(!isOurs(error) && { err: error }) }, `${name} run failed`)
}

function logNoRun(log: Logger, { organization, kind, why, untilMs }: NoRunOfJob): void {
  const facts = { organization, why }
  const { isPartial, name } = KINDS[kind]
  if (isPartial) log.debug(facts, `${name} run left out`)
  else if (why === 'paused') log.info({ organization, until: untilMs && isoTime(untilMs) }, 'run put off')
  else if (why === 'newer-version' || why === 'another-configuration') log.warn(facts, 'job left to other workers')
  else log.info(facts, 'run not needed')
}
