import { pauseOf, type Pauses } from '../../src/pause.ts'
import type { Mirror } from '../../src/store.ts'
import type { Readiness } from '../../src/http/health.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import { expectedNow } from '../pauses/expected-now.ts'
import { within } from '../queue/deadline.ts'
import { lateSinceMs, type Scheduled } from '../schedule/due-outlook.ts'
import { isRefusal, reasonOf } from '../queue/queue-refusal.ts'
import { mirrorProblems, type MirrorFailure } from './mirror-failures.ts'

/**
 * Whether the worker does its work; the removals that wait for a decision, and the paused organizations, which do not affect
 * readiness. Without `held` it is unknown whether there are any.
 */
export type WorkerReadiness = Readiness & { held?: HeldBack[]; paused?: PausedNow[] }

/** A paused organization. It is not late, whenever it was due. Times in ISO 8601. */
type PausedNow = { organization: string; since: string; until: string | null }

/** How many removals of an organization a run held back, in the form of `customer-mirror removals list --json`. */
type HeldBack = { run: number; organization: string; held: number }

export type Examined = {
  /** Writes to the queue, or rejects with its error. */
  write: () => Promise<void>
  workers: readonly { isRunning(): boolean; isPaused(): boolean }[]
  /** What is wrong with the configuration, in sentences. */
  configuration?: readonly string[]
  organizations: readonly Scheduled[]
  mirror: Pick<Mirror, 'listLastRuns' | 'listHeldRemovals'>
  /** The organizations whose last run here failed by the mirror. */
  mirrorFailures?: ReadonlyMap<string, MirrorFailure>
  /** Which organizations are paused. Never rejects. */
  pauses?: () => Promise<Pauses>
  nowMs: number
}

const ASK_MS = 2000

export async function examine(examined: Examined): Promise<WorkerReadiness> {
  const { configuration = [] } = examined
  const pauses = await examined.pauses?.()
  const problems = [
    ...(await queueProblems(examined)),
    ...workerProblems(examined),
    ...configuration,
    ...(await runProblems(examined, pauses ?? new Map())),
  ]
  const paused = pausedNow(examined, pauses ?? new Map())
  return {
    ready: problems.length === 0,
    problems,
    held: await heldBack(examined),
    ...(paused.length > 0 && { paused }),
  }
}

async function heldBack({ organizations, mirror }: Examined): Promise<HeldBack[]> {
  const configured = new Set(organizations.map(({ id }) => id))
  const held = await mirror.listHeldRemovals()
  return held
    .filter(({ organization }) => configured.has(organization))
    .map(({ runId, organization, held: removals }) => ({ run: runId, organization, held: removals }))
}

async function queueProblems({ write }: Examined): Promise<string[]> {
  const problem = await within(
    write().then(() => undefined, writeProblem),
    ASK_MS,
    UNREACHED,
  )
  return problem === undefined ? [] : [problem]
}

function writeProblem(error: unknown): string {
  return isRefusal(error) ? `the queue cannot be written: ${reasonOf(error)}` : UNREACHED
}

const UNREACHED = 'the queue cannot be reached'

function workerProblems({ workers }: Examined): string[] {
  return workers.every((worker) => worker.isRunning() && !worker.isPaused()) ? [] : ['no jobs are taken']
}

function pausedNow({ organizations, nowMs }: Examined, pauses: Pauses): PausedNow[] {
  return organizations.flatMap(({ id }) => {
    const paused = pauseOf(pauses, id, nowMs)
    if (paused === undefined) return []
    return [{ organization: id, since: isoTime(paused.sinceMs), until: isoTime(paused.untilMs) }]
  })
}

/** Organizations whose runs fail by the mirror, and those that were due a while ago and have not been read completely since. */
async function runProblems(
  { organizations, mirror, mirrorFailures, nowMs }: Examined,
  pauses: Pauses,
): Promise<string[]> {
  const lastRuns = await mirror.listLastRuns()
  const expected = expectedNow(organizations, pauses, nowMs)
  return [
    ...(mirrorFailures === undefined ? [] : mirrorProblems(mirrorFailures, expected, lastRuns)),
    ...expected.flatMap(({ id, schedule, seenAtMs }) => {
      if (schedule === undefined) return []
      const lastRun = lastRuns.find((run) => run.organization === id)
      const sinceMs = lateSinceMs({ id, schedule, seenAtMs }, lastRun, nowMs)
      return sinceMs === undefined ? [] : [`${id}: was due at ${isoTime(sinceMs)} and has not been mirrored since`]
    }),
  ]
}
