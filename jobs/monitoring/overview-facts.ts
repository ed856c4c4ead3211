import { pauseOf, type Pauses } from '../../src/pause.ts'
import type { OverviewFacts } from '../../src/page/overview.ts'
import { dueOutlooks, type Scheduled } from '../schedule/due-outlook.ts'

type Moment = {
  /** Absent where the queue, which keeps the pauses, could not be asked. */
  pauses: Pauses | undefined
  nowMs: number
  monotonicMs: number
}

/** The due times and the pauses of the configured organizations, as the overview shows them. */
export function overviewFacts(
  organizations: readonly Scheduled[],
  { pauses, nowMs, monotonicMs }: Moment,
): OverviewFacts {
  return {
    organizations: organizations.map(({ id }) => id),
    dueOf: dueOutlooks(organizations, nowMs),
    pausedOf: pauses && ((id) => pauseOf(pauses, id, nowMs)),
    nowMs,
    monotonicMs,
  }
}
