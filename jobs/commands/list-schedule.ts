import type { Organization } from '../../src/config/organization.ts'
import type { Config } from '../../src/config/read-config.ts'
import { openMirrorIfThere } from '../../src/store/mirror.ts'
import { pauseOf, type Pause } from '../../src/model/pause.ts'
import type { LastRun } from '../../src/model/mirror.ts'
import { readSharedPauses } from '../pauses.ts'
import { betweenNights, comingRuns, localTime, type Schedule } from '../schedule/due-times.ts'
import { isDue } from '../schedule/due-runs.ts'

/** The next runs of one organization, empty if it has no schedule. Times in Unix milliseconds, and in the time zone of the schedule. */
export type ScheduleLine = ReturnType<typeof lineOf>

/** The next `count` runs of every organization, those of a paused one after its pause. */
export async function listSchedule(
  config: Config,
  { nowMs, count }: { nowMs: number; count: number },
): Promise<ScheduleLine[]> {
  const [lastRuns, pauses] = await Promise.all([readLastRuns(config.mirror), readSharedPauses(config)])
  return config.organizations.map((organization) => {
    const lastRun = lastRuns.find((run) => run.organization === organization.id)
    const paused = pauses && pauseOf(pauses, organization.id, nowMs)
    return lineOf(organization, { lastRun, paused }, { nowMs, count })
  })
}

type Known = { lastRun: LastRun | undefined; paused: Pause | undefined }

function lineOf(
  { id: organization, schedule }: Organization,
  { lastRun, paused }: Known,
  { nowMs, count }: { nowMs: number; count: number },
) {
  if (schedule === undefined)
    return { organization, cron: undefined, timezone: undefined, dueNow: false, paused, runs: [], between: undefined }
  const { cron, timezone } = schedule
  // None where the end of a pause is not known.
  const fromMs = paused === undefined ? nowMs : paused.untilMs
  const coming = (line: Schedule) => (fromMs === undefined ? [] : comingRuns(organization, line, fromMs, count))
  const moments = (runs: number[]) => runs.map((atMs) => ({ atMs, local: localTime(atMs, timezone) }))
  // A run that was missed is made up for as soon as the pause is over.
  const isMissed = paused !== undefined && fromMs !== undefined && isDue(organization, schedule, lastRun, fromMs)
  const runs = [...(isMissed ? [fromMs] : []), ...coming(schedule)].slice(0, count)
  const between = betweenNights(schedule)
  return {
    ...{ organization, cron, timezone, paused, runs: moments(runs) },
    /** A worker that starts now mirrors it at once. */
    dueNow: paused === undefined && isDue(organization, schedule, lastRun, nowMs),
    between: between && { cron: between.cron, runs: moments(coming(between)) },
  }
}

async function readLastRuns(address: string): Promise<LastRun[]> {
  const mirror = await openMirrorIfThere(address)
  try {
    return (await mirror?.listLastRuns()) ?? []
  } finally {
    await mirror?.close()
  }
}
