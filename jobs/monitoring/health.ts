import { describeError, factsOf } from '../../src/errors/errors.ts'
import type { Readiness } from '../../src/http/server.ts'
import { listedNames } from '../../src/text/wording.ts'
import { pauseOf, type Pauses } from '../../src/model/pause.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { isoTime } from '../../src/time/moments.ts'
import { expectedNow } from '../pauses.ts'
import { within } from '../queue/deadline.ts'
import { reasonOf } from '../queue/queue-faults.ts'
import { lateSinceMs, type Scheduled } from '../schedule/due-runs.ts'

/** Whether the worker does its work, and what does not affect that: decisions that wait for a person, and pauses. */
export type WorkerReadiness = Readiness & { held?: HeldBack[]; shapeChanged?: string[]; paused?: PausedNow[] }

/** A paused organization. It is not late, whenever it was due. Times in ISO 8601. */
type PausedNow = { organization: string; since: string; until: string | null }

/** How many removals of an organization a run held back, in the form of `customer-mirror removals list --json`. */
type HeldBack = { run: number; organization: string; held: number }

export type Examined = {
  write: () => Promise<void>
  workers: readonly { isRunning(): boolean; isPaused(): boolean }[]
  /** What is wrong with the configuration, in sentences. */
  configuration?: readonly string[]
  organizations: readonly Scheduled[]
  mirror: Pick<Mirror, 'listHeldRemovals' | 'listUncountedFreshness'>
  mirrorFailures?: MirrorFailures
  pauses?: Pauses | undefined
  nowMs: number
}

const ASK_MS = 2000
const UNREACHED = 'the queue cannot be reached'

export async function examine(examined: Examined): Promise<WorkerReadiness> {
  const { write, workers, configuration = [], organizations, mirror, mirrorFailures, pauses = NONE, nowMs } = examined
  const known = new Map((await mirror.listUncountedFreshness()).map((each) => [each.organization, each]))
  const expected = expectedNow(organizations, pauses, nowMs)
  const late = expected.flatMap((organization) => {
    const { id } = organization
    const sinceMs = lateSinceMs(organization, known.get(id), nowMs)
    return sinceMs === undefined ? [] : [`${id}: was due at ${isoTime(sinceMs)} and has not been mirrored since`]
  })
  const problems = [
    ...(await queueProblems(write)),
    ...(workers.every((worker) => worker.isRunning() && !worker.isPaused()) ? [] : ['no jobs are taken']),
    ...configuration,
    ...(mirrorFailures?.problems(expected, (id) => known.get(id)?.readAsOfMs) ?? []),
    ...late,
  ]
  const ids = organizations.map(({ id }) => id)
  const paused = ids.flatMap((organization) => {
    const pause = pauseOf(pauses, organization, nowMs)
    return pause === undefined ? [] : [{ organization, since: isoTime(pause.sinceMs), until: isoTime(pause.untilMs) }]
  })
  const held = (await mirror.listHeldRemovals())
    .filter(({ organization }) => ids.includes(organization))
    .map(({ runId, organization, held: removals }) => ({ run: runId, organization, held: removals }))
  const shapeChanged = ids.filter((id) => known.get(id)?.why.includes('shape-changed'))
  return {
    ...{ ready: problems.length === 0, problems, held },
    ...(shapeChanged.length > 0 && { shapeChanged }),
    ...(paused.length > 0 && { paused }),
  }
}

const NONE: Pauses = new Map()

async function queueProblems(write: () => Promise<void>): Promise<string[]> {
  const written = write().then(
    () => [],
    (error: unknown) => [`the queue cannot be written: ${reasonOf(error)}`],
  )
  return within(written, ASK_MS, [UNREACHED])
}

/**
 * The organizations whose last full run in this worker failed by the mirror: it was locked for long, its disk was full or read-only. Such a
 * run may have left nothing in the mirror by which it could be found there. A failure is over with the next full run that can use the mirror.
 */
export function watchMirrorFailures(now: () => number) {
  const failures = new Map<string, { atMs: number; code: string }>()
  return {
    /** To be called at the end of each full run. */
    note({ organization, outcome: { error } }: { organization: string; outcome: { error: unknown } }): void {
      if (error === undefined || factsOf(error).from !== 'mirror') failures.delete(organization)
      else failures.set(organization, { atMs: now(), code: describeError(error).code })
    },
    /** The failures of these organizations in sentences, one for each error code. One that was read since, as by another worker, has none. */
    problems(
      organizations: readonly { id: string }[],
      readAsOfMs: (id: string) => number | undefined = () => 0,
    ): string[] {
      const open = organizations.flatMap(({ id }) => {
        const failure = failures.get(id)
        return failure === undefined || (readAsOfMs(id) ?? 0) > failure.atMs ? [] : [{ id, ...failure }]
      })
      return [...Map.groupBy(open, ({ code }) => code)].map(([code, failed]) => {
        const last = isoTime(Math.max(...failed.map(({ atMs }) => atMs)))
        const names = listedNames(failed.map(({ id }) => id))
        return `the mirror could not be used (${code}), last at ${last}, by runs of ${names}: see the log of the worker`
      })
    },
  }
}

export type MirrorFailures = ReturnType<typeof watchMirrorFailures>
