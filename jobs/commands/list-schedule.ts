import type { Organization } from '../../src/config/organization.ts'
import type { Config } from '../../src/config/read-config.ts'
import { openMirrorIfThere } from '../../src/store/mirror.ts'
import { pauseOf, type Pause } from '../../src/model/pause.ts'
import type { LastRun } from '../../src/model/mirror.ts'
import { readSharedPauses } from '../pauses.ts'
import { checkSchedules, comingRuns, localTime, quickSchedule, runAt, type ComingRun } from '../schedule/due-times.ts'
import { isDue, type Wanted } from '../schedule/due-runs.ts'

/** The next runs of one organization, empty if it has no schedule. Times in Unix milliseconds. */
export type ScheduleLine = {
  organization: string
  cron: string | undefined
  timezone: string | undefined
  /** Whether it was due after its last complete reading and is not paused: a worker that starts now mirrors it at once. */
  dueNow: boolean
  /** Undefined where it is not paused, or where that is not known. */
  paused: Pause | undefined
  runs: Moment[]
  /** Its quick runs, apart from the others; undefined if it has none. */
  quick: { cron: string; runs: Moment[] } | undefined
}

/** A future run. `local` is its time in the time zone of the schedule. */
type Moment = { atMs: number; local: string; clocksChange: boolean }

/**
 * The next `count` runs of every organization of the configuration, those of a paused one after its pause. Reads past runs from the
 * mirror, and pauses from a queue on a server.
 */
export async function listSchedule(
  config: Config,
  { nowMs, count }: { nowMs: number; count: number },
): Promise<ScheduleLine[]> {
  checkSchedules(config, nowMs)
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
): ScheduleLine {
  if (schedule === undefined)
    return { organization, cron: undefined, timezone: undefined, dueNow: false, paused, runs: [], quick: undefined }
  const { cron, timezone } = schedule
  const moments = (runs: ComingRun[]) => runs.map((run) => ({ ...run, local: localTime(run.atMs, timezone) }))
  const fromMs = paused === undefined ? nowMs : paused.untilMs
  const wanted = { organization, schedule }
  const dueNow = paused === undefined && isDue(wanted, lastRun, nowMs)
  const between = quickSchedule(schedule)
  const quick = between && {
    cron: between.cron,
    runs: moments(fromMs === undefined ? [] : comingRuns(organization, between, fromMs, count)),
  }
  const runs =
    paused === undefined
      ? comingRuns(organization, schedule, nowMs, count)
      : runsAfterPause(wanted, lastRun, paused, count)
  return { organization, cron, timezone, dueNow, paused, runs: moments(runs), quick }
}

/**
 * The first `count` runs of an organization after its pause, none where its end is not known. One that was missed is made up for as soon
 * as the pause is over.
 */
function runsAfterPause(
  wanted: Wanted,
  lastRun: Pick<LastRun, 'readAsOfMs'> | undefined,
  { untilMs }: Pick<Pause, 'untilMs'>,
  count: number,
): ComingRun[] {
  if (untilMs === undefined) return []
  const { organization, schedule } = wanted
  if (!isDue(wanted, lastRun, untilMs)) return comingRuns(organization, schedule, untilMs, count)
  return [runAt(untilMs, schedule), ...comingRuns(organization, schedule, untilMs, count - 1)]
}

async function readLastRuns(address: string): Promise<LastRun[]> {
  const mirror = await openMirrorIfThere(address)
  try {
    return (await mirror?.listLastRuns()) ?? []
  } finally {
    await mirror?.close()
  }
}
