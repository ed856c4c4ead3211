import { MirrorUnusable } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/store.ts'
import { within } from '../queue/deadline.ts'

/** What the endpoints ask of the mirror. */
export type LookedAt = Pick<
  Mirror,
  | 'file'
  | 'findRun'
  | 'listFreshness'
  | 'listHeldRemovals'
  | 'listLastRuns'
  | 'listLatestRuns'
  | 'listUncountedFreshness'
  | 'listUnderway'
>

type Limits = {
  /** A scrape looks twice, and Prometheus gives it ten seconds. */
  lookMs: number
  /** Counting the customers of a large mirror takes its time. */
  countMs: number
}

const LIMITS: Limits = { lookMs: 3000, countMs: 60_000 }

/** The most look-ups that may wait for an answer at the same time: each holds a connection that the runs need. */
const MOST_LATE = 2

/**
 * The mirror as the endpoints use it. They must answer even while its server is frozen or cut off, so a look-up without an answer in time
 * is refused as `gone`. While too many look-ups wait for an answer, each further one is refused at once.
 */
export function answeringInTime(mirror: LookedAt, { lookMs, countMs }: Limits = LIMITS): LookedAt {
  let late = 0
  const unanswered = () => new MirrorUnusable(`${mirror.file}: the server does not answer in time.`, { code: 'gone' })

  async function inTime<Answer>(ask: () => Promise<Answer>, ms = lookMs): Promise<Answer> {
    if (late >= MOST_LATE) throw unanswered()
    const asked = ask()
    const found = await within(
      asked.then((answer) => ({ answer })),
      ms,
      undefined,
    )
    if (found !== undefined) return found.answer
    const ended = () => (late -= 1)
    late += 1
    asked.then(ended, ended)
    throw unanswered()
  }

  return {
    file: mirror.file,
    findRun: (id) => inTime(() => mirror.findRun(id)),
    listFreshness: () => inTime(() => mirror.listFreshness(), countMs),
    listHeldRemovals: () => inTime(() => mirror.listHeldRemovals()),
    listLastRuns: (filter) => inTime(() => mirror.listLastRuns(filter)),
    listLatestRuns: (filter) => inTime(() => mirror.listLatestRuns(filter)),
    listUncountedFreshness: () => inTime(() => mirror.listUncountedFreshness()),
    listUnderway: (clocks) => inTime(() => mirror.listUnderway(clocks)),
  }
}
