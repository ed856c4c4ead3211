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
  const { backend, config, queues, pauses, syncWorker, quickWorker } = engine
  const failures = mirrorFailures.byOrganization
  const configuration = () => configurationProblems(config, others.problem())
  const write = createWriteProbe(backend.write, monotonicMs)
  const examineNow = () =>
    examine({
      write,
      workers: [syncWorker, quickWorker],
      configuration: configuration(),
      organizations: config.current.organizations,
      mirror,
      mirrorFailures: failures,
      pauses: () => pauses.latest(),
      nowMs: now(),
    })
  const notices = async () =>
    noticesOf({
      configuration: configuration(),
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
