import type { Mirror } from '../../src/store.ts'
import { ConfigError } from '../../src/errors/errors.ts'
import type { Config } from '../../src/config/read-config.ts'
import { windowText } from '../../src/config/settings/window.ts'
import { duration } from '../../src/wording.ts'
import { readCancelledUntil } from './cancelled-until.ts'
import { neverOpens, scheduleProblem, startDelayMs, type Schedule } from './due-times.ts'
import type { Queues } from '../queue/queues.ts'
import type { SharedValues } from '../queue/shared-values.ts'
import { quickSchedule } from './quick-times.ts'
import { nameOf, namedBy, planSchedules, type Found, type SchedulePlan, type Wanted } from './schedule-plan.ts'

/** The name of the jobs that say that a quick run is due. */
export const QUICK_TICK = 'quick'

export type Reconciling = {
  queues: Pick<Queues, 'tick' | 'requestSync'>
  mirror: Pick<Mirror, 'listLastRuns'>
  /** What workers share, with the cancels of persons. */
  values: Pick<SharedValues, 'list' | 'delete'>
  organizations: Config['organizations']
  nowMs: number
  /** When this worker started, if it has just started: it retries once what failed before then, in Unix milliseconds. */
  startedAtMs?: number | undefined
  /** Whether the clock of this worker was just set back. */
  wasSetBack?: boolean | undefined
  /** Asked before schedules are written and removed; without it they always are. */
  mayWrite?: () => Promise<boolean>
}

/**
 * Makes the schedules in the queue equal to those of the configuration, and requests missed runs: one for each organization,
 * however many nights were missed. Returns what was done: an organization that has a job already is not among those of `catchUp`.
 */
export async function reconcileSchedules(reconciling: Reconciling): Promise<SchedulePlan> {
  const { queues, mirror, values, organizations, nowMs, startedAtMs, wasSetBack, mayWrite } = reconciling
  const { tick, requestSync } = queues
  const { catchUp, upsert, remove } = planSchedules({
    wanted: wantedOf(organizations),
    found: await findSchedules(tick, nowMs),
    lastRuns: await mirror.listLastRuns(),
    cancelledUntilMs: await readCancelledUntil(values, scheduled(organizations), nowMs),
    nowMs,
    atStart: startedAtMs !== undefined,
    wasSetBack,
  })
  // What has failed since then failed for another worker that started with this one.
  const askedAtMs = startedAtMs ?? nowMs
  const requested: string[] = []
  for (const organization of catchUp)
    if ((await requestSync(organization, 'catch-up', { askedAtMs })).added) requested.push(organization)
  const unwritten = { catchUp: requested, upsert: [], remove: [] }
  if (upsert.length + remove.length === 0) return unwritten
  if (mayWrite !== undefined && !(await mayWrite())) return unwritten
  await writeSchedules(tick, { upsert, remove })
  return { catchUp: requested, upsert, remove }
}

/** The schedules to write and to remove so that the queue equals the configuration. */
export async function compareSchedules(
  tick: Queues['tick'],
  organizations: Config['organizations'],
  nowMs: number,
): Promise<Pick<SchedulePlan, 'upsert' | 'remove'>> {
  const found = await findSchedules(tick, nowMs)
  return planSchedules({ wanted: wantedOf(organizations), found, lastRuns: [], nowMs, atStart: false })
}

async function writeSchedules(tick: Queues['tick'], plan: Pick<SchedulePlan, 'upsert' | 'remove'>): Promise<void> {
  for (const wanted of plan.upsert) {
    const { organization, schedule, isQuick } = wanted
    const opts = { removeOnComplete: true, removeOnFail: 10, stackTraceLimit: 0 }
    await tick.upsertJobScheduler(
      nameOf(wanted),
      { pattern: schedule.cron, tz: schedule.timezone },
      { name: isQuick === true ? QUICK_TICK : 'tick', data: { organization }, opts },
    )
  }
  for (const name of plan.remove) await tick.removeJobScheduler(name)
}

function wantedOf(organizations: Config['organizations']): Wanted[] {
  return [...scheduled(organizations), ...quickScheduled(organizations)]
}

/** The organizations that have quick runs. */
function quickScheduled(organizations: Config['organizations']): Wanted[] {
  return organizations.flatMap(({ id, schedule }) => {
    const quick = schedule && quickSchedule(schedule)
    return quick === undefined ? [] : [{ organization: id, schedule: quick, isQuick: true }]
  })
}

/** The organizations that have a schedule. */
function scheduled(organizations: Config['organizations']): Wanted[] {
  return organizations.flatMap(({ id, schedule }) => (schedule === undefined ? [] : [{ organization: id, schedule }]))
}

/** Throws one ConfigError for all mistakes in the schedules. */
export function checkSchedules(config: Pick<Config, 'organizations' | 'file'>, nowMs: number): void {
  const mistakes = scheduleMistakes(config, nowMs)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
}

/** The cron lines without a future moment, or without one inside the hours in which runs may start. */
export function scheduleMistakes({ organizations, file }: Pick<Config, 'organizations' | 'file'>, nowMs: number) {
  return wantedOf(organizations).flatMap(({ organization, schedule, isQuick }) => {
    const problem = scheduleProblem(schedule, nowMs)
    const place = { file, path: `schedule of ${organization}` }
    const line = `its ${isQuick === true ? 'quick' : 'cron'} line`
    if (problem !== undefined) return [{ ...place, message: `${line} names no moment (${problem})` }]
    return neverOpens(organization, schedule)
      ? [{ ...place, message: `${line}${outsideWindow(organization, schedule)}` }]
      : []
  })
}

function outsideWindow(organization: string, schedule: Schedule): string {
  const delayMs = startDelayMs(organization, schedule)
  const delayed = delayMs === 0 ? '' : `, ${duration(delayMs)} later by its spread,`
  const hours = schedule.window === undefined ? '' : windowText(schedule.window)
  const advice = `no run would ever start; change one of the two`
  return `${delayed} never falls inside the window ${hours} (${schedule.timezone}), so that ${advice}`
}

async function findSchedules(tick: Queues['tick'], nowMs: number): Promise<Found[]> {
  const schedulers = await tick.getJobSchedulers(0, -1, true)
  return Promise.all(
    schedulers.map(async ({ key, pattern = '', tz = '', next = 0 }) => ({
      ...namedBy(key),
      cron: pattern,
      timezone: tz,
      nextMs: next,
      ticks: next > nowMs || (await isWaiting(tick, `repeat:${key}:${next}`)),
    })),
  )
}

/** Whether an overdue tick is still in the queue, for a worker to take. */
async function isWaiting(tick: Queues['tick'], jobId: string): Promise<boolean> {
  const state = await tick.getJobState(jobId)
  return state === 'waiting' || state === 'delayed' || state === 'active' || state === 'prioritized'
}
