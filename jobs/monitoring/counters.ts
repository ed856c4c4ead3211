import type { Report } from '../../src/report.ts'
import { QUICK_ENDS, type EndOfQuickRun } from '../run/end-of-quick-run.ts'
import type { JobVerdict } from '../run/outcome.ts'
import type { RunOfJob } from '../run/sync-job.ts'
import type { Meters } from './meters.ts'

/** What a worker counts. */
export type Counting = {
  countRun(run: RunOfJob): void
  countQuickRun(ended: EndOfQuickRun): void
  countAnswer(organization: string, answer: { status: number }): void
  /** A job whose worker is gone came to another one. */
  countTakenOver(): void
}

/** The counters of a worker. `keepOnly` drops those of organizations that are no longer configured. */
export function countersIn(meters: Meters): Counting & { keepOnly(organizations: readonly string[]): void } {
  const counters = makeCounters(meters)
  const { runs, quickRuns } = counters
  const counted = new Set<string>()

  const countWork = (organization: string, report: Report) => {
    counters.pages.inc({ organization }, report.pages)
    for (const change of CHANGES) counters.customers.inc({ organization, change }, report[change])
    counters.throttled.inc({ organization }, report.throttled)
    counters.waited.inc({ organization }, seconds(report.waitedMs))
  }

  return {
    countRun({ organization, outcome: { report }, verdict }) {
      counted.add(organization)
      runs.inc({ organization, outcome: verdict.kind })
      countWork(organization, report)
      counters.took.observe({ organization }, seconds(report.durationMs))
    },
    countQuickRun(ended) {
      counted.add(ended.organization)
      quickRuns.inc({ organization: ended.organization, outcome: ended.end })
      if (ended.end !== 'skipped') countWork(ended.organization, ended.outcome.report)
    },
    countAnswer(organization, { status }) {
      counted.add(organization)
      counters.requests.inc({ organization, status: `${Math.floor(status / 100)}xx` })
    },
    countTakenOver() {
      counters.takenOver.inc()
    },
    keepOnly(organizations) {
      const configured = new Set(organizations)
      for (const organization of counted.difference(configured)) {
        forget(counters, organization)
        counted.delete(organization)
      }
      // Prometheus sees the first event only as an increase from 0, so counters start at 0.
      for (const organization of organizations) {
        counted.add(organization)
        for (const outcome of OUTCOMES) runs.inc({ organization, outcome }, 0)
        for (const outcome of QUICK_ENDS) quickRuns.inc({ organization, outcome }, 0)
      }
    },
  }
}

type Counters = ReturnType<typeof makeCounters>

function makeCounters({ counter, histogram }: Meters) {
  return {
    runs: counter('runs', 'Runs, by the outcome of their job', ['organization', 'outcome']),
    quickRuns: counter('quick_runs', 'Quick runs between two nights, by their end', ['organization', 'outcome']),
    pages: counter('pages', 'Pages saved', ['organization']),
    customers: counter('customers', 'Records, by result', ['organization', 'change']),
    requests: counter('requests', 'Answers of the service, by class of status', ['organization', 'status']),
    throttled: counter('throttled', 'Answers that asked to slow down', ['organization']),
    waited: counter('waited_seconds', 'Seconds waited inside runs because the service asked', ['organization']),
    took: histogram('run_duration_seconds', 'How long runs take', ['organization'], RUN_SECONDS),
    takenOver: counter('jobs_taken_over', 'Jobs whose worker was gone, so that another one took them', []),
  }
}

/** The ids of organizations that come and go must not pile up in a worker that runs for months. */
function forget(counters: Counters, organization: string): void {
  for (const outcome of OUTCOMES) counters.runs.remove({ organization, outcome })
  for (const outcome of QUICK_ENDS) counters.quickRuns.remove({ organization, outcome })
  for (const change of CHANGES) counters.customers.remove({ organization, change })
  for (const hundreds of [1, 2, 3, 4, 5]) counters.requests.remove({ organization, status: `${hundreds}xx` })
  for (const one of [counters.pages, counters.throttled, counters.waited, counters.took]) one.remove({ organization })
}

/** Seconds, never negative: a run measured by a clock that was set back may have a negative duration. */
function seconds(ms: number): number {
  return Number.isFinite(ms) ? Math.max(0, ms) / 1000 : 0
}

const RUN_SECONDS = [1, 5, 15, 60, 300, 900, 3600, 14_400]

const OUTCOMES = [
  'complete',
  'wait',
  'retry',
  'give-up',
  'hand-back',
  'abandon',
] as const satisfies JobVerdict['kind'][]

const CHANGES = [
  'received',
  'inserted',
  'updated',
  'unchanged',
  'duplicates',
  'rejected',
  'suppressed',
  'removed',
  'returned',
] as const
