import type { Pause } from '../../src/pause.ts'
import type { LastRun } from '../../src/store.ts'
import { comingRuns, runAt, type ComingRun } from './due-times.ts'
import { isOpenAt, opensAfter } from './run-hours.ts'
import { isDue, type Wanted } from './schedule-plan.ts'

/**
 * The first `count` runs of an organization after its pause, none where its end is not known. One that was missed is made up for as soon
 * as the pause is over and runs may start.
 */
export function runsAfterPause(
  wanted: Wanted,
  lastRun: Pick<LastRun, 'completeAsOfMs'> | undefined,
  { untilMs }: Pick<Pause, 'untilMs'>,
  count: number,
): ComingRun[] {
  if (untilMs === undefined) return []
  const { organization, schedule, isQuick } = wanted
  if (isQuick === true || !isDue(wanted, lastRun, untilMs)) return comingRuns(organization, schedule, untilMs, count)
  const startMs = isOpenAt(schedule, untilMs) ? untilMs : (opensAfter(schedule, untilMs) ?? untilMs)
  return [runAt(startMs, schedule), ...comingRuns(organization, schedule, startMs, count - 1)]
}
