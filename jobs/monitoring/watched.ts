import { compareSchedules } from '../schedule/reconcile.ts'
import type { TickWorker } from '../schedule/tick-worker.ts'
import { createWriteProbe } from '../queue/write-probe.ts'
import type { Engine } from '../worker-parts.ts'
import { answeringInTime } from './answer-in-time.ts'
import { createBoard } from './board.ts'
import { configurationProblems } from './configuration-problems.ts'
import { examine } from './health.ts'
import { BOARD_PATH, type Watched } from './http.ts'
import type { Metrics } from './metrics.ts'
import { createPages } from './pages.ts'
import { measureProcess } from './process-metrics.ts'
import { createScrape } from './scrape.ts'

type Watching = {
  metrics: Metrics | undefined
  /** The token of the board. */
  token: string | undefined
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
}

/** What the endpoints of a worker show: readiness, metrics, the page, and the board where there is a token for it. */
export function watched(
  engine: Engine,
  tickWorker: TickWorker,
  { metrics, token, now, monotonicMs }: Watching,
): Watched {
  const { backend, config, followed, queues, pauses, syncWorker, quickWorker } = engine
  const mirror = answeringInTime(engine.mirror)
  const configuration = () => configurationProblems(followed.accepted.standing)
  const write = createWriteProbe(backend.write, monotonicMs)
  const examineNow = () =>
    examine({
      write,
      workers: [syncWorker, quickWorker, tickWorker],
      configuration: configuration(),
      compareSchedules: () => compareSchedules(queues.tick, config.current.organizations, now()),
      organizations: config.current.organizations,
      mirror,
      pauses: () => pauses.latest(),
      nowMs: now(),
    })
  return {
    metrics: createScrape({ metrics, processText: measureProcess(), examine: examineNow, write }),
    pages: createPages({
      mirror,
      organizations: () => config.current.organizations,
      notices: configuration,
      pauses: () => pauses.latest(),
      now,
      monotonicMs,
    }),
    board: token === undefined ? undefined : createBoard(queues, { path: BOARD_PATH, token }),
    examine: examineNow,
  }
}
