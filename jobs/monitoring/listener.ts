import type { Logger } from '../../src/log.ts'
import type { Mirror } from '../../src/store.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import type { Publisher } from '../publish/publisher.ts'
import { isWorthACopy } from '../run/end-of-quick-run.ts'
import type { Listener } from '../run/sync-job.ts'
import { createEventLog } from './event-log.ts'
import type { Metrics } from './metrics.ts'
import type { MirrorFailures } from './mirror-failures.ts'
import { logQuickRun, logRun, logUnknown } from './run-log.ts'

type Listening = {
  metrics: Metrics
  mirrorFailures: Pick<MirrorFailures, 'note'>
  mirror: Pick<Mirror, 'listHeldRemovals'>
  publisher: Pick<Publisher, 'runEnded' | 'compareSoon'>
  log: Logger
  monotonicMs: () => number
}

/** Counts and logs what becomes of jobs, and lets the copy for readers follow. */
export function createListener({ metrics, mirrorFailures, mirror, publisher, log, monotonicMs }: Listening): Listener {
  return {
    onEvent: createEventLog(log, monotonicMs),
    onAnswer: (organization, answer) => metrics.countAnswer(organization, answer),
    onRun: (run) => {
      metrics.countRun(run)
      mirrorFailures.note(run)
      publisher.runEnded(run.organization)
      const held = mirror.listHeldRemovals().catch(() => undefined)
      void held.then((open) => logRun(log, run, open))
    },
    onPutOff: (organization, { untilMs }) => {
      publisher.runEnded(organization)
      log.info({ organization, until: untilMs && isoTime(untilMs) }, 'run put off')
    },
    onLeft: (organization, why) => {
      publisher.runEnded(organization)
      log.warn({ organization, why }, 'job left to other workers')
    },
    onNotNeeded: (organization, why) => {
      publisher.runEnded(organization)
      log.info({ organization, why }, 'run not needed')
    },
    onUnknown: (organization) => {
      publisher.runEnded(organization)
      logUnknown(log, organization)
    },
    onQuickRun: (ended) => {
      metrics.countQuickRun(ended)
      if (isWorthACopy(ended)) publisher.compareSoon()
      logQuickRun(log, ended)
    },
  }
}
