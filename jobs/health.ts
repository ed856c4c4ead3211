import type { Organization } from '../src/config/organization.ts'
import type { Mirror } from '../src/mirror/mirror.ts'
import { within } from './deadline.ts'
import { previousDueMs } from './due-times.ts'
import { scheduled } from './schedule.ts'

/** Whether the worker does its work, and what is wrong where it does not. */
export type Readiness = { ready: boolean; problems: string[] }

export type Examined = {
  ping: () => Promise<void>
  workers: readonly { isRunning(): boolean; isPaused(): boolean }[]
  /** The schedules that the queue has, by organization. */
  scheduledIds: () => Promise<string[]>
  organizations: readonly Organization[]
  mirror: Pick<Mirror, 'listLastRuns'>
  nowMs: number
}

const ASK_MS = 2000
/** How long after it was due an organization may still be on its way. */
const GRACE_MS = 2 * 3_600_000

export async function examine(examined: Examined): Promise<Readiness> {
  const problems = [...(await queueProblems(examined)), ...workerProblems(examined), ...(await staleProblems(examined))]
  return { ready: problems.length === 0, problems }
}

async function queueProblems({ ping, scheduledIds, organizations }: Examined): Promise<string[]> {
  const reached = await within(
    ping().then(() => true),
    ASK_MS,
    false,
  ).catch(() => false)
  if (!reached) return ['the queue cannot be reached']
  const found = await within(scheduledIds(), ASK_MS, undefined).catch(() => undefined)
  if (found === undefined) return ['the schedules cannot be read']
  const wanted = scheduled([...organizations]).map(({ organization }) => organization)
  const missing = wanted.filter((id) => !found.includes(id)).map((id) => `${id}: its schedule is not in the queue yet`)
  return [
    ...missing,
    ...found.filter((id) => !wanted.includes(id)).map((id) => `${id}: is scheduled, but not configured`),
  ]
}

function workerProblems({ workers }: Examined): string[] {
  return workers.every((worker) => worker.isRunning() && !worker.isPaused()) ? [] : ['no jobs are taken']
}

/** Organizations that were due a while ago and have not been read whole since. */
async function staleProblems({ organizations, mirror, nowMs }: Examined): Promise<string[]> {
  const lastRuns = await mirror.listLastRuns()
  return scheduled([...organizations]).flatMap(({ organization, schedule }) => {
    const asOfMs = lastRuns.find((run) => run.organization === organization)?.completeAsOfMs
    const dueMs = previousDueMs(organization, schedule, nowMs - GRACE_MS)
    if (asOfMs !== undefined && asOfMs >= dueMs) return []
    return [`${organization}: was due at ${new Date(dueMs).toISOString()} and has not been mirrored since`]
  })
}
