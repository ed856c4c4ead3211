import type { Config } from '../src/config/read-config.ts'
import { ALL, pauseOf } from '../src/model/pause.ts'
import { closing, ifThere, openMirrorToRead } from '../src/store/mirror.ts'
import { localTime } from '../src/time/moments.ts'
import { cancellations } from './cancel.ts'
import { pause, type Pausing, readPauses, readSharedPauses, resume, type Warn } from './pauses.ts'
import { type OpenedQueue, type QueueConfig, requireMirrorOfQueue, withQueues } from './queue/backend.ts'
import { KINDS, RUN_KINDS, type RunKind } from './queue/port.ts'
import { failureOf, payload, progressOf, type RunJob, waitOf } from './queue/queues.ts'
import { isDue } from './schedule/due-runs.ts'
import { type Schedule, betweenNights, comingRuns } from './schedule/due-times.ts'
import { succeeds } from '../src/machine/timers.ts'

/** The jobs of a queue, those that run first, and the pauses in it. */
export async function listJobs(config: QueueConfig) {
  return withQueues(config, async ({ backend: { place, values }, queues }) => {
    const looks = Object.entries(STATES).flatMap(([state, types]) =>
      RUN_KINDS.map(async (kind) => {
        const jobs = await queues[kind].getJobs([...types], 0, -1, true)
        const found = jobs.map((job) => listed(job, kind, state))
        return found.toSorted((left, right) => timeOf(left) - timeOf(right))
      }),
    )
    const [jobs, pauses] = await Promise.all([Promise.all(looks), readPauses(values)])
    return { place, jobs: jobs.flat(), pauses }
  })
}

const STATES = { running: ['active'], waiting: ['waiting', 'prioritized'], delayed: ['delayed'] } as const

/** A job as commands show it. Times in Unix milliseconds. */
function listed(job: RunJob, kind: RunKind, state: string) {
  const isRunning = state === 'running'
  return {
    // Another program may have made the job.
    organization: payload.safeParse(job.data).data?.organization ?? '?',
    ...{ kind: KINDS[kind].name, state, trigger: job.name, wait: waitOf(job, state) },
    sinceMs: (isRunning ? job.processedOn : undefined) ?? job.timestamp,
    /** The process of the worker, as `process-name.ts` names it. */
    worker: isRunning ? job.processedBy : undefined,
    failures: job.attemptsMade,
    error: failureOf(job),
  }
}

function timeOf({ wait, sinceMs }: ReturnType<typeof listed>): number {
  return wait?.untilMs ?? sinceMs
}

/** Pauses these organizations for every worker of the queue, or ends their pauses; all of them where none is named. */
export async function changePauses(config: QueueConfig, organizations: readonly string[], change: PauseChange) {
  const names = organizations.length === 0 ? [ALL] : organizations
  return withQueues(config, ({ backend: { values } }) =>
    'pause' in change ? pause(values, names, change.pause) : resume(values, names, change.resumeMs),
  )
}

type PauseChange = { pause: Pausing } | { resumeMs: number }

/** What became of a request: a new job, or the one that the organization has. */
export type RequestedRun = {
  organization: string
  /** That of the job; or `added`, `started` from its delay, `full-run` where no partial one is needed, `told-to-wait` by the service, `paused`. */
  state: string
  /** Until when the service asked to wait, or the pause lasts, in Unix milliseconds. */
  untilMs?: number | undefined
}

/** Requests a run of each of these organizations now. A job that waits for its next attempt starts, unless the service said when. */
export async function requestRuns(config: QueueConfig, organizations: readonly string[], kind: RunKind, nowMs: number) {
  return withQueues({ ...config, noSharedQueue: NO_SHARED_QUEUE }, async (opened) => {
    await requireMirrorOfQueue(opened.backend.values, config.mirror)
    const pauses = await readPauses(opened.backend.values)
    return Array.fromAsync(organizations, async (organization): Promise<RequestedRun> => {
      const paused = pauseOf(pauses, organization, nowMs)
      if (paused !== undefined) return { organization, state: 'paused', untilMs: paused.untilMs }
      return { organization, ...(await request(opened, organization, kind, nowMs)) }
    })
  })
}

async function request({ queues, backend }: OpenedQueue, organization: string, kind: RunKind, nowMs: number) {
  const { isPartial } = KINDS[kind]
  if (isPartial && (await queues.stateOf('sync', organization)) !== undefined) return { state: 'full-run' }
  const state = await queues.request(kind, organization, 'manual', { nowMs })
  // What was cancelled before is wanted again.
  if (state === 'added' && !isPartial) await cancellations.delete(backend.values, organization)
  return state === 'delayed' ? hasten(queues, kind, organization, nowMs) : { state }
}

/** Starts a delayed job at once, unless it waits on behalf of its service. */
async function hasten(queues: OpenedQueue['queues'], kind: RunKind, organization: string, nowMs: number) {
  const job = await queues.jobOf(kind, organization)
  const { why, untilMs = 0 } = (job && progressOf(job).wait) ?? {}
  if (why === 'rate-limit' && untilMs > nowMs) return { state: 'told-to-wait', untilMs }
  // Where it cannot be promoted, it was started, or ended, in this moment.
  const isStarted = job !== undefined && (await succeeds(job.promote()))
  return { state: isStarted ? 'started' : ((await queues.stateOf(kind, organization)) ?? 'ended') }
}

const NO_SHARED_QUEUE =
  'There is no queue to put a job into: an embedded queue is open only in its worker. Name a redis:// or postgres:// ' +
  "address as queue in the configuration, or run 'customer-mirror sync' instead."

/** The next `count` runs of every organization with a schedule, of a paused one after its pause; in Unix milliseconds, and in its time zone. */
export async function listSchedule(config: Config, warn: Warn, { nowMs, count }: { nowMs: number; count: number }) {
  const mirror = await ifThere(openMirrorToRead(config.mirror))
  const lastRuns = mirror && (await closing(mirror, () => mirror.listLastRuns()))
  const pauses = await readSharedPauses(config, warn)
  return config.organizations.map(({ id: organization, schedule }) => {
    const lastRun = lastRuns?.find((run) => run.organization === organization)
    const paused = pauses && pauseOf(pauses, organization, nowMs)
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
  })
}
