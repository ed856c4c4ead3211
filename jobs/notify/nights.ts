import { createHash } from 'node:crypto'
import type { Organization } from '../../src/config/organization.ts'
import { factsOfCode } from '../../src/errors/error-facts.ts'
import { pauseOf } from '../../src/model/pause.ts'
import { type LatestRun, type Report, toJson } from '../../src/model/report.ts'
import type { LastRun, Mirror } from '../../src/model/mirror.ts'
import { isoTime } from '../../src/time/moments.ts'
import { readPauses } from '../pauses.ts'
import type { Backend } from '../queue/port.ts'
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

/** What is known of an organization: `isCalledOff` where a person wants no run for the due time. */
export type Known = { lastRun: LastRun | undefined; hasJob: boolean; isCalledOff: boolean; nowMs: number }

/** How an organization stands that was due. While it has a job, a failed run is tried again. */
export function endedAs(dueMs: number, { lastRun, hasJob, isCalledOff, nowMs }: Known): Ended {
  if (wasReadSince(dueMs, lastRun, nowMs)) return 'complete'
  const hasFailed = lastRun?.status === 'failed' && lastRun.startedAtMs >= dueMs
  return (hasFailed || isCalledOff) && !hasJob ? 'failed' : 'pending'
}

type Sources = {
  mirror: Mirror
  queues: Pick<Queues, 'sync'>
  backend: Pick<Backend, 'values'>
  now: () => number
}

/** Whether every organization of a night has ended, or the night has. */
export async function isOver(night: Night, sources: Sources): Promise<boolean> {
  const nowMs = sources.now()
  if (nowMs >= night.lastMs) return true
  for await (const { ended } of standings(night, sources)) if (ended === 'pending') return false
  return true
}

/** Every organization of a night, with the run that says how it stands. */
export async function lookUpNight(night: Night, sources: Sources): Promise<InNight[]> {
  const { mirror } = sources
  const ids = night.organizations.map(({ id }) => id)
  const latest = Map.groupBy(
    await mirror.listLatestRuns({ organizations: ids, limit: 5 }),
    ({ organization }) => organization,
  )
  const held = Map.groupBy(await mirror.listHeldRemovals(), ({ organization }) => organization)
  const found: InNight[] = []
  for await (const { organization, dueMs, ended } of standings(night, sources)) {
    const isMeant = ({ status, startedAtMs }: LatestRun) =>
      ended === 'complete' ? status === 'complete' : startedAtMs >= dueMs
    const runId = latest.get(organization)?.findLast(isMeant)?.runId
    const run = runId === undefined ? undefined : await mirror.findRun(runId)
    const heldRemovals = (held.get(organization) ?? []).reduce((sum, each) => sum + each.held, 0)
    found.push({ organization, ended, run, heldRemovals })
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

/**
 * The queue is asked only about organizations that were not read. One that is paused until the night is over has a job that waits
 * for the end of its pause; no other one comes.
 */
async function* standings(
  { organizations, lastMs }: Night,
  { mirror, queues, backend, now }: Sources,
): AsyncGenerator<{ organization: string; dueMs: number; ended: Ended }> {
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  const cancelled = await listCancellations(backend.values)
  const pauses = await readPauses(backend.values)
  for (const { id, dueMs } of organizations) {
    const paused = pauseOf(pauses, id, now())
    const isPaused = paused !== undefined && (paused.untilMs ?? Infinity) >= lastMs
    const isCalledOff = isPaused || (cancelled.get(id)?.untilMs ?? 0) >= dueMs
    const known = { lastRun: lastRuns.get(id), isCalledOff, nowMs: now() }
    const isRead = endedAs(dueMs, { ...known, hasJob: true }) === 'complete'
    const state = isRead ? undefined : await jobStateOf(queues.sync, id)
    const hasJob = state !== undefined && !(isPaused && state === 'delayed')
    yield { organization: id, dueMs, ended: endedAs(dueMs, { ...known, hasJob }) }
  }
}

/** An organization in a night: how it stands, the run that says so, and how many of its removals wait for a decision. */
export type InNight = { organization: string; ended: Ended; run: Report | undefined; heldRemovals: number }

/** Whether every organization was read to its end, its data has the fields that it had, and none waits for a person to decide. */
export function wentWell(organizations: readonly Pick<InNight, 'ended' | 'run' | 'heldRemovals'>[]): boolean {
  return organizations.every(
    ({ ended, run, heldRemovals }) =>
      ended === 'complete' && run?.reasons.includes('shape-changed') !== true && heldRemovals === 0,
  )
}

/** The report of a night: ids, counts, codes and times. Its keys are a contract: later versions only add some. */
export function reportNight(night: Night, organizations: readonly InNight[], nowMs: number): object {
  const { cron, timezone, dueMs } = night
  const having = (outcome: NightOutcome) => organizations.filter((one) => outcomeOf(one) === outcome).length
  const sum = (count: 'inserted' | 'updated' | 'removed' | 'returned' | 'rejected') =>
    organizations.reduce((total, { run }) => total + (run?.[count] ?? 0), 0)
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
        inserted: sum('inserted'),
        updated: sum('updated'),
        removed: sum('removed'),
        returned: sum('returned'),
        rejected: sum('rejected'),
      },
      organizations: organizations.map((one) => ({
        organization: one.organization,
        outcome: outcomeOf(one),
        heldRemovals: one.heldRemovals,
        run: one.run === undefined ? null : runOf(one.run),
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
