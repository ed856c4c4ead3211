import type { LastRun } from '../../src/store.ts'
import { existsSync } from 'node:fs'
import { readConfig } from '../../src/config/read-config.ts'
import { openMirrorToRead } from '../../src/mirror/mirror.ts'
import { comingRuns, localTime } from './due-times.ts'
import { checkSchedules } from './reconcile.ts'
import { isDue } from './schedule-plan.ts'

/** The next runs of one organization, empty if it has no schedule. Times in Unix milliseconds. */
export type ScheduleLine = {
  organization: string
  cron: string | undefined
  timezone: string | undefined
  /** Whether it was due after its last complete reading: a worker that starts now mirrors it at once. */
  dueNow: boolean
  runs: { atMs: number; local: string; clocksChange: boolean }[]
}

/** The next `count` runs of every organization of the configuration. Reads past runs from the mirror, and uses no queue. */
export async function listSchedule(
  file: string | undefined,
  { nowMs, count }: { nowMs: number; count: number },
): Promise<ScheduleLine[]> {
  const config = await readConfig({ file, cwd: process.cwd() })
  checkSchedules(config, nowMs)
  const lastRuns = await readLastRuns(config.mirror)
  return config.organizations.map(({ id: organization, schedule }) => {
    if (schedule === undefined) return { organization, cron: undefined, timezone: undefined, dueNow: false, runs: [] }
    const { cron, timezone } = schedule
    const lastRun = lastRuns.find((run) => run.organization === organization)
    const runs = comingRuns(organization, schedule, nowMs, count).map((run) => ({
      ...run,
      local: localTime(run.atMs, timezone),
    }))
    return { organization, cron, timezone, dueNow: isDue({ organization, schedule }, lastRun, nowMs), runs }
  })
}

async function readLastRuns(mirrorFile: string): Promise<LastRun[]> {
  if (!existsSync(mirrorFile)) return []
  const mirror = await openMirrorToRead(mirrorFile)
  try {
    return await mirror.listLastRuns()
  } finally {
    await mirror.close()
  }
}
