import { within } from '../queue/deadline.ts'
import type { OtherConfigurations } from '../configuration/other-configurations.ts'
import type { Engine } from '../worker-parts.ts'
import type { LookedAt } from './answer-in-time.ts'
import { examine } from './health.ts'
import { BOARD_PATH, type Watched } from './http.ts'
import type { Metrics } from './metrics.ts'
import { type MirrorFailures, mirrorProblems, type MirrorFailure } from './mirror-failures.ts'
import { createPages } from './pages.ts'
import { createScrape } from './scrape.ts'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { PREFIX } from './meters.ts'
import type { Pauses } from '../../src/pause.ts'
import type { Mirror } from '../../src/store.ts'
import { expectedNow } from '../pauses/expected-now.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import type { LiveConfig } from '../configuration/live-config.ts'
import { createHash, timingSafeEqual } from 'node:crypto'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { serveStatic } from '@hono/node-server/serve-static'
import { Queue } from 'bullmq'
import { Hono } from 'hono'
import { basicAuth } from 'hono/basic-auth'
import type { Queues } from '../queue/queues.ts'

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

/** Gauges that are named like counters. The same figures are there by type, and their sums need no metric. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

let registry: Registry | undefined

/**
 * Begins to measure this process: its CPU, its memory, and how late its event loop is. Once in a process, because what observes it
 * cannot be ended. The function returned writes the figures in the text format of Prometheus.
 */
export function measureProcess(): () => Promise<string> {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry, prefix: PREFIX })
    for (const name of MISNAMED) registry.removeSingleMetric(`${PREFIX}${name}`)
  }
  const measured = registry
  return () => measured.metrics()
}

/** How long an answer of the queue is reused. */
const STANDS_MS = 5000

/**
 * Checks whether the queue accepts writes by writing to it: one write at a time, and at most one in five seconds, for all callers
 * together. Rejects like that write.
 */
export function createWriteProbe(write: () => Promise<void>, monotonicMs: () => number): () => Promise<void> {
  let last: { answer: Promise<void>; endedMs: number | undefined } | undefined
  return () => {
    const stands = last !== undefined && (last.endedMs === undefined || monotonicMs() - last.endedMs < STANDS_MS)
    if (last !== undefined && stands) return last.answer
    const asked: NonNullable<typeof last> = { answer: write(), endedMs: undefined }
    last = asked
    const end = () => {
      asked.endedMs = monotonicMs()
    }
    asked.answer.then(end, end)
    return asked.answer
  }
}

type Noticed = {
  /** What is wrong with the configuration, in sentences. */
  configuration: readonly string[]
  organizations: readonly { id: string }[]
  mirror: Pick<Mirror, 'listLastRuns'>
  /** The organizations whose last run here failed by the mirror. */
  mirrorFailures: ReadonlyMap<string, MirrorFailure>
  pauses: Pauses
  nowMs: number
}

/** What the page says above the organizations: what is wrong here and stands at none of them. `/readyz` names the same. */
export async function noticesOf(noticed: Noticed): Promise<string[]> {
  const { configuration, organizations, mirror, mirrorFailures, pauses, nowMs } = noticed
  if (mirrorFailures.size === 0) return [...configuration]
  const expected = expectedNow(organizations, pauses, nowMs)
  return [...configuration, ...mirrorProblems(mirrorFailures, expected, await mirror.listLastRuns())]
}

/**
 * What is wrong with the configuration of a worker, in sentences for monitors and for the page. Commands use the mirror and the queue of
 * the file at once, and the worker only after a restart.
 */
export function configurationProblems(
  { brokenSinceMs, awaitingRestart }: Pick<LiveConfig, 'brokenSinceMs' | 'awaitingRestart'>,
  differing: string | undefined,
): string[] {
  return [
    ...awaitingRestart.map(
      (setting) =>
        `the configuration file names another ${setting}, which commands use now and this worker after a restart`,
    ),
    ...(brokenSinceMs === undefined
      ? []
      : [
          `the configuration file cannot be used since ${isoTime(brokenSinceMs)}, see the log of the worker; the one before stays`,
        ]),
    ...(differing === undefined ? [] : [differing]),
  ]
}

/** Read-only pages of the queues, under `path`, for holders of the token. */
function createBoard({ all }: Queues, { path, token }: { path: string; token: string }): Hono {
  const adapter = new HonoAdapter(serveStatic)
  adapter.setBasePath(path)
  createBullBoard({
    queues: all.map(lookAt),
    serverAdapter: adapter,
  })
  const board = new Hono()
  // A browser asks for a name and a password; any name is accepted.
  board.use('*', basicAuth({ realm: 'Customer Mirror', verifyUser: (_name, password) => isSame(password, token) }))
  board.route('/', adapter.registerPlugin())
  return board
}

/** The board is written for queues on Redis, but works with the others too. */
function lookAt(queue: unknown): BullMQAdapter {
  if (!(queue instanceof Queue)) throw new TypeError('This is no queue.')
  return new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false })
}

/** Compares in constant time. */
function isSame(given: string, wanted: string): boolean {
  const [left, right] = [given, wanted].map((text) => createHash('sha256').update(text).digest())
  return left !== undefined && right !== undefined && timingSafeEqual(left, right)
}
