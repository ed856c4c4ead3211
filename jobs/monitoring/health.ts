import { MirrorUnusable } from '../../src/errors/errors.ts'
import type { Readiness } from '../../src/http/server.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { type OverviewFacts, readStandings } from '../../src/status/overview.ts'
import { isoTime } from '../../src/time/moments.ts'
import { succeeds, within } from '../queue/deadline.ts'
import { reasonOf } from '../queue/queue-faults.ts'

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
  facts: OverviewFacts
  mirror: Parameters<typeof readStandings>[0]
}

const ASK_MS = 2000

export async function examine({
  write,
  workers,
  configuration = [],
  facts,
  mirror,
}: Examined): Promise<WorkerReadiness> {
  const views = await readStandings(mirror, facts)
  const problems = [
    ...(await queueProblems(write)),
    ...(workers.every((worker) => worker.isRunning() && !worker.isPaused()) ? [] : ['no jobs are taken']),
    ...configuration,
    ...views.flatMap(({ organization, due, paused }) =>
      due?.isLate !== true || paused !== undefined
        ? []
        : [`${organization}: was due at ${isoTime(due.lastMs)} and has not been mirrored since`],
    ),
  ]
  const paused = views.flatMap(({ organization, paused: pause }) =>
    pause === undefined ? [] : [{ organization, since: isoTime(pause.sinceMs), until: isoTime(pause.untilMs) }],
  )
  const held = views.flatMap(({ organization, held: open }) =>
    open.map(({ runId, held: removals }) => ({ run: runId, organization, held: removals })),
  )
  const changed = views.filter(({ standing }) => standing.states.includes('shape-changed'))
  return {
    ...{ ready: problems.length === 0, problems, held },
    ...(changed.length > 0 && { shapeChanged: changed.map(({ organization }) => organization) }),
    ...(paused.length > 0 && { paused }),
  }
}

async function queueProblems(write: () => Promise<void>): Promise<string[]> {
  const written = write().then(
    () => [],
    (error: unknown) => [`the queue cannot be written: ${reasonOf(error)}`],
  )
  return within(written, ASK_MS, ['the queue cannot be reached'])
}

/** How long an answer may take: a scrape looks twice, and Prometheus gives it ten seconds; to count a large mirror takes its time. */
const IN_TIME = { lookMs: 3000, countMs: 60_000 }

/** The most look-ups that may wait for an answer at the same time: each holds a connection that the runs need. */
const MOST_LATE = 2

/** The mirror for the endpoints, which answer even while its server is frozen: a look-up without an answer is refused as `gone`. */
export function answeringInTime(mirror: Mirror, { lookMs, countMs } = IN_TIME): Mirror {
  let late = 0
  const unanswered = () => new MirrorUnusable(`${mirror.file}: the server does not answer in time.`, { code: 'gone' })

  async function inTime(asked: Promise<unknown>, ms: number): Promise<unknown> {
    const found = await within(
      asked.then((answer) => ({ answer })),
      ms,
      undefined,
    )
    if (found !== undefined) return found.answer
    late += 1
    void succeeds(asked).then(() => (late -= 1))
    throw unanswered()
  }

  return new Proxy(mirror, {
    get(target, verb) {
      const asked: unknown = Reflect.get(target, verb)
      if (typeof asked !== 'function') return asked
      return async (...filter: unknown[]) => {
        if (late >= MOST_LATE) throw unanswered()
        const answer = Promise.resolve(Reflect.apply(asked, target, filter))
        return inTime(answer, verb === 'listFreshness' ? countMs : lookMs)
      }
    },
  })
}
