import type { Organization } from '../../src/config/organization.ts'
import { pauseOf } from '../../src/pause.ts'
import type { LatestRun } from '../../src/report.ts'
import type { Mirror } from '../../src/store.ts'
import { readPauses } from '../pauses.ts'
import type { Backend } from '../queue/port.ts'
import { jobStateOf, type Queues } from '../queue/queues.ts'
import { listCancellations } from '../run/cancellations.ts'
import { lateSinceMs } from '../schedule/due-outlook.ts'
import type { InNight } from './night-report.ts'
import { endedAs, type Ended, type Night } from './nights.ts'

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
    const runId = runOf(latest.get(organization) ?? [], ended, dueMs)
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
  return organizations.some(({ id, schedule, seenAtMs }) => {
    const lastRun = lastRuns.get(id)
    if (schedule === undefined) return false
    return lastRun?.status === 'failed' || lateSinceMs({ id, schedule, seenAtMs }, lastRun, now()) !== undefined
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

function runOf(runs: readonly LatestRun[], ended: Ended, dueMs: number): number | undefined {
  const isMeant = ({ status, startedAtMs }: LatestRun) =>
    ended === 'complete' ? status === 'complete' : startedAtMs >= dueMs
  return runs.findLast(isMeant)?.runId
}
