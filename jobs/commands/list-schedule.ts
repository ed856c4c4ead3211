import type { LastRun } from '../../src/store.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { openMirrorIfThere } from '../../src/mirror/mirror.ts'
import { comingRuns, localTime, type Schedule } from '../schedule/due-times.ts'
import { quickSchedule, spreadBetween } from '../schedule/quick-times.ts'
import { checkSchedules } from '../schedule/reconcile.ts'
import { isDue } from '../schedule/schedule-plan.ts'

/** The next runs of one organization, empty if it has no schedule. Times in Unix milliseconds. */
export type ScheduleLine = {
  organization: string
  cron: string | undefined
  timezone: string | undefined
  /** Whether it was due after its last complete reading: a worker that starts now mirrors it at once. */
  dueNow: boolean
  runs: Moment[]
  /** Its quick runs, apart from the others; undefined if it has none. */
  quick: { cron: string; runs: Moment[] } | undefined
}

/** A future run. `local` is its time in the time zone of the schedule. */
type Moment = { atMs: number; local: string; clocksChange: boolean }

/** The next `count` runs of every organization of the configuration. Reads past runs from the mirror, and uses no queue. */
export async function listSchedule(
  file: string | undefined,
  { nowMs, count }: { nowMs: number; count: number },
): Promise<ScheduleLine[]> {
  const config = await readConfig({ file, cwd: process.cwd() })
  checkSchedules(config, nowMs)
  const lastRuns = await readLastRuns(config.mirror)
  return config.organizations.map(({ id: organization, schedule }) => {
    if (schedule === undefined)
      return { organization, cron: undefined, timezone: undefined, dueNow: false, runs: [], quick: undefined }
    const { cron, timezone } = schedule
    const lastRun = lastRuns.find((run) => run.organization === organization)
    const moments = (of: Schedule) =>
      comingRuns(organization, of, nowMs, count).map((run) => ({ ...run, local: localTime(run.atMs, timezone) }))
    const dueNow = isDue({ organization, schedule }, lastRun, nowMs)
    const between = quickSchedule(schedule)
    const quick = between && { cron: between.cron, runs: moments(spreadBetween(between, nowMs)) }
    return { organization, cron, timezone, dueNow, runs: moments(schedule), quick }
  })
}

async function readLastRuns(address: string): Promise<LastRun[]> {
  const mirror = await openMirrorIfThere(address)
  try {
    return (await mirror?.listLastRuns()) ?? []
  } finally {
    await mirror?.close()
  }
}
