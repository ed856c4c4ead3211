import { within } from '../queue/deadline.ts'
import { createWriteProbe } from '../queue/write-probe.ts'
import type { OtherConfigurations } from '../configuration/other-configurations.ts'
import type { Engine } from '../worker-parts.ts'
import type { LookedAt } from './answer-in-time.ts'
import { createBoard } from './board.ts'
import { configurationProblems } from './configuration-problems.ts'
import { examine } from './health.ts'
import { BOARD_PATH, type Watched } from './http.ts'
import type { Metrics } from './metrics.ts'
import type { MirrorFailures } from './mirror-failures.ts'
import { noticesOf } from './notices.ts'
import { createPages } from './pages.ts'
import { measureProcess } from './process-metrics.ts'
import { createScrape } from './scrape.ts'

/** How long to wait for the queue: it is reported on its own that it is away. */
const ASK_MS = 2000

/** What is measured of a worker, and the mirror as its endpoints look at it. */
export type Observed = {
  metrics: Metrics
  mirror: LookedAt
  mirrorFailures: Pick<MirrorFailures, 'byOrganization'>
}

type Watching = Observed & {
  others: Pick<OtherConfigurations, 'problem'>
  /** The token of the board. */
  token: string | undefined
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
}

/** What the endpoints of a worker show: readiness, metrics, the page, and the board where there is a token for it. */
export function watched(
  engine: Engine,
  { metrics, mirror, mirrorFailures, others, token, now, monotonicMs }: Watching,
): Watched {
  const { backend, config, anotherMirror, queues, pauses, syncWorker, quickWorker } = engine
  const failures = mirrorFailures.byOrganization
  const configuration = async () => {
    const another = await within(anotherMirror(), ASK_MS, undefined).catch(() => undefined)
    return [...configurationProblems(config, others.problem()), ...(another === undefined ? [] : [another])]
  }
  const write = createWriteProbe(backend.write, monotonicMs)
  const examineNow = async () =>
    examine({
      write,
      workers: [syncWorker, quickWorker],
      configuration: await configuration(),
      organizations: config.current.organizations,
      mirror,
      mirrorFailures: failures,
      pauses: () => pauses.latest(),
      nowMs: now(),
    })
  const notices = async () =>
    noticesOf({
      configuration: await configuration(),
      organizations: config.current.organizations,
      mirror,
      mirrorFailures: failures,
      pauses: await pauses.latest(),
      nowMs: now(),
    })
  return {
    metrics: createScrape({ metrics, processText: measureProcess(), examine: examineNow, write }),
    pages: createPages({
      mirror,
      organizations: () => config.current.organizations,
      notices,
      pauses: () => pauses.latest(),
      now,
      monotonicMs,
    }),
    board: token === undefined ? undefined : createBoard(queues, { path: BOARD_PATH, token }),
    examine: examineNow,
  }
}
