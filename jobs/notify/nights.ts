import { createHash } from 'node:crypto'
import type { Organization } from '../../src/config/organization.ts'
import { factsOfCode } from '../../src/errors/error-facts.ts'
import { pauseOf } from '../../src/model/pause.ts'
import { type Report, toJson } from '../../src/model/report.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { isoTime } from '../../src/time/moments.ts'
import { readPauses } from '../pauses.ts'
import type { SharedValues } from '../queue/port.ts'
import { type Queues, jobStateOf } from '../queue/queues.ts'
import { listCancellations } from '../run/cancellations.ts'
import { GRACE_MS, lateSinceMs, wasReadSince } from '../schedule/due-runs.ts'
import { type Schedule, nextAfter, previousDueMs, startDelayMs } from '../schedule/due-times.ts'

/** The organizations that are due by the same cron line in the same time zone. */
export type Rota = {
  /** A name for its values in the queue. */
  name: string
  cron: string
  timezone: string
  organizations: readonly { id: string; schedule: Schedule }[]
}

/** One due time of a rota. Times in Unix milliseconds. */
export type Night = Pick<Rota, 'cron' | 'timezone'> & {
  dueMs: number
  /** Each organization with the moment at which it is due, its spread included. */
  organizations: readonly { id: string; dueMs: number }[]
  /** When the night ends at the latest, whatever is still under way. */
  lastMs: number
}

/** How an organization stands in a night. `pending`: its run is still to come, or to end. */
export type Ended = 'complete' | 'failed' | 'pending'

/** The rotas of the configured organizations, by name. */
export function rotasOf(organizations: readonly { id: string; schedule: Schedule | undefined }[]): Rota[] {
  const scheduled = organizations.flatMap(({ id, schedule }) => (schedule === undefined ? [] : [{ id, schedule }]))
  const byLine = Map.groupBy(scheduled, ({ schedule: { cron, timezone } }) => `${cron}\n${timezone}`)
  return [...byLine].flatMap(([line, each]) => {
    const [first] = each
    if (first === undefined) return []
    const { cron, timezone } = first.schedule
    const name = createHash('sha256').update(line).digest('hex').slice(0, 12)
    return [{ name, cron, timezone, organizations: each }]
  })
}

/** The latest due time of a rota that has come, without the spread; undefined if there was none for years. */
export function lastDueMs({ name, cron, timezone }: Rota, nowMs: number): number | undefined {
  const dueMs = previousDueMs(name, { cron, timezone, spreadMs: 0 }, nowMs)
  return dueMs > 0 ? dueMs : undefined
}

/**
 * The night of a due time. It ends at the latest two hours after the last organization is due, or after a worker first saw that night, and
 * when the next night begins.
 */
export function nightAt({ cron, timezone, organizations }: Rota, dueMs: number, seenMs: number): Night {
  const due = organizations.map(({ id, schedule }) => ({ id, dueMs: dueMs + startDelayMs(id, schedule) }))
  const spreadMs = Math.max(0, ...due.map((each) => each.dueMs - dueMs))
  return {
    ...{ cron, timezone, dueMs },
    organizations: due,
    lastMs: spreadMs + Math.min(nextAfter({ cron, timezone }, dueMs), Math.max(dueMs, seenMs) + GRACE_MS),
  }
}

type Sources = {
  mirror: Pick<Mirror, 'listLastRuns' | 'listLatestRuns' | 'listHeldRemovals' | 'findRun'>
  queues: Pick<Queues, 'sync'>
  backend: { values: Pick<SharedValues, 'list'> }
  now: () => number
}

/** An organization in a night, and the moment at which it was due. */
type Standing = { organization: string; dueMs: number; ended: Ended }

/**
 * How every organization of a night stands. The queue is asked only about those that were not read. One that is paused until the night is over
 * has a job that waits for the end of its pause; no other one comes.
 */
export async function standingsOf(
  { organizations, lastMs }: Night,
  { mirror, queues, backend, now }: Sources,
): Promise<Standing[]> {
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  const cancelled = await listCancellations(backend.values)
  const pauses = await readPauses(backend.values)
  const standings: Standing[] = []
  for (const { id, dueMs } of organizations) {
    const lastRun = lastRuns.get(id)
    const paused = pauseOf(pauses, id, now())
    const isPaused = paused !== undefined && (paused.untilMs ?? Infinity) >= lastMs
    const isCalledOff = isPaused || (cancelled.get(id)?.untilMs ?? 0) >= dueMs
    const hasFailed = lastRun?.status === 'failed' && lastRun.startedAtMs >= dueMs
    const isRead = wasReadSince(dueMs, lastRun, now())
    const state = isRead ? undefined : await jobStateOf(queues.sync, id)
    // While it has a job, a failed run is tried again.
    const hasJob = state !== undefined && !(isPaused && state === 'delayed')
    const ended = isRead ? 'complete' : (hasFailed || isCalledOff) && !hasJob ? 'failed' : 'pending'
    standings.push({ organization: id, dueMs, ended })
  }
  return standings
}

/** An organization in a night: how it stands, the run that says so, and how many of its removals wait for a decision. */
export type InNight = { organization: string; ended: Ended; run: Report | undefined; heldRemovals: number }

/** Looks up the runs that say how organizations stand in a night, and their removals. */
export async function lookUpRuns(standings: readonly Standing[], { mirror }: Sources): Promise<InNight[]> {
  const ids = standings.map(({ organization }) => organization)
  const latest = await mirror.listLatestRuns({ organizations: ids, limit: 5 })
  const held = await mirror.listHeldRemovals()
  const found: InNight[] = []
  for (const { organization, dueMs, ended } of standings) {
    const meant = latest.findLast(
      ({ organization: of, status, startedAtMs }) =>
        of === organization && (ended === 'complete' ? status === 'complete' : startedAtMs >= dueMs),
    )
    const heldHere = held.filter((each) => each.organization === organization)
    found.push({
      ...{ organization, ended, run: meant && (await mirror.findRun(meant.runId)) },
      heldRemovals: heldHere.reduce((sum, each) => sum + each.held, 0),
    })
  }
  return found
}

/** Whether an organization of any night failed when it was last read, or is late. */
export async function isAnyBehind(
  organizations: readonly Pick<Organization, 'id' | 'schedule' | 'seenAtMs'>[],
  { mirror, now }: { mirror: Pick<Mirror, 'listLastRuns'>; now: () => number },
): Promise<boolean> {
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  return organizations.some((organization) => {
    const lastRun = lastRuns.get(organization.id)
    const hasFailed = organization.schedule !== undefined && lastRun?.status === 'failed'
    return hasFailed || lateSinceMs(organization, lastRun, now()) !== undefined
  })
}

/** Whether every organization was read to its end, its data has the fields that it had, and none waits for a person to decide. */
export function wentWell(organizations: readonly Pick<InNight, 'ended' | 'run' | 'heldRemovals'>[]): boolean {
  return organizations.every(
    ({ ended, run, heldRemovals }) =>
      ended === 'complete' && run?.reasons.includes('shape-changed') !== true && heldRemovals === 0,
  )
}

/** The report of a night: ids, counts, codes and times. Its keys are a contract: later versions only add some. */
export function reportNight(
  { cron, timezone, dueMs }: Night,
  organizations: readonly InNight[],
  nowMs: number,
): object {
  const outcomes = organizations.map(outcomeOf)
  const having = (outcome: NightOutcome) => outcomes.filter((one) => one === outcome).length
  const sums = (['inserted', 'updated', 'removed', 'returned', 'rejected'] as const).map((name): [string, number] => [
    name,
    organizations.reduce((total, { run }) => total + (run?.[name] ?? 0), 0),
  ])
  return {
    type: 'night.ended',
    timestamp: isoTime(nowMs),
    data: {
      version: 1,
      dueAt: isoTime(dueMs),
      ...{ cron, timezone },
      wentWell: wentWell(organizations),
      totals: {
        organizations: organizations.length,
        complete: having('complete'),
        failed: having('failed'),
        unfinished: having('unfinished'),
        notStarted: having('not-started'),
        ...Object.fromEntries(sums),
      },
      organizations: organizations.map(({ organization, heldRemovals, run }, index) => ({
        ...{ organization, outcome: outcomes[index], heldRemovals },
        run: run === undefined ? null : runOf(run),
      })),
    },
  }
}

type NightOutcome = 'complete' | 'failed' | 'unfinished' | 'not-started'

function outcomeOf({ ended, run }: InNight): NightOutcome {
  if (ended === 'complete') return ended
  if (run === undefined) return 'not-started'
  return ended === 'pending' ? 'unfinished' : ended
}

/** As `sync --json` prints it, with the title of an error: a message may quote what the service answered. */
function runOf(run: Report): object {
  const { pruned: _pruned, ...json } = { pruned: undefined, ...toJson(run) }
  const { code } = run.error ?? {}
  return { ...json, error: code === undefined ? null : { code, title: factsOfCode(code).title } }
}
