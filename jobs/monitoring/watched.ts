import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { serveStatic } from '@hono/node-server/serve-static'
import { Queue } from 'bullmq'
import { Hono } from 'hono'
import { basicAuth } from 'hono/basic-auth'
import { createHash, timingSafeEqual } from 'node:crypto'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/store.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import type { Engine } from '../engine.ts'
import type { LiveConfig } from '../live-config.ts'
import { examine, noticesOf } from './health.ts'
import { BOARD_PATH, type Watched, createPages } from './http.ts'
import { processText } from './metrics.ts'
import { succeedsWithin, within } from '../queue/deadline.ts'
import type { Queues } from '../queue/queues.ts'

/** How long to wait for the queue: it is reported on its own that it is away. */
const ASK_MS = 2000

/** What the endpoints of a worker show: readiness, metrics, the page, and the board where there is a token for it. */
export function watched(
  engine: Engine,
  { token, now, monotonicMs }: { token: string | undefined; now: () => number; monotonicMs: () => number },
): Watched {
  const { backend, config, anotherMirror, queues, pauses, others, syncWorker, quickWorker, metrics } = engine
  const { watchedMirror: mirror, mirrorFailures } = engine
  const write = createWriteProbe(backend.write, monotonicMs)
  const noticed = async () => {
    const another = await within(anotherMirror(), ASK_MS, undefined).catch(() => undefined)
    return {
      configuration: [...configurationProblems(config, others.problem()), ...(another === undefined ? [] : [another])],
      organizations: config.current.organizations,
      mirror,
      mirrorFailures,
      pauses: await pauses.latest(),
      nowMs: now(),
    }
  }
  const examineNow = async () => examine({ ...(await noticed()), write, workers: [syncWorker, quickWorker] })
  return {
    examine: examineNow,
    metrics: async () => {
      const ready = examineNow().then(
        (found) => found.ready,
        () => false,
      )
      const queueUp = succeedsWithin(write(), ASK_MS)
      return (await metrics.text({ ready: await ready, queueUp: await queueUp })) + (await processText())
    },
    pages: createPages({
      mirror,
      organizations: () => config.current.organizations,
      notices: async () => noticesOf(await noticed()),
      pauses: () => pauses.latest(),
      now,
      monotonicMs,
    }),
    board: token === undefined ? undefined : createBoard(queues, { path: BOARD_PATH, token }),
  }
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

/**
 * What is wrong with the configuration of a worker, in sentences for monitors and for the page. Commands use the mirror and the queue of
 * the file at once, and the worker only after a restart.
 */
export function configurationProblems(
  { current, brokenSinceMs, awaitingRestart }: Pick<LiveConfig, 'current' | 'brokenSinceMs' | 'awaitingRestart'>,
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
    ...(schedulesNothing({ current }) ? [NO_SCHEDULE] : []),
    ...(differing === undefined ? [] : [differing]),
  ]
}

export function schedulesNothing({ current }: Pick<LiveConfig, 'current'>): boolean {
  return current.organizations.every(({ schedule }) => schedule === undefined)
}

export const NO_SCHEDULE =
  'the configuration schedules nothing, so this worker starts no run by itself: give it a schedule, such as `schedule: { cron: "0 2 * * *" }`'

/** Read-only pages of the queues, under `path`, for holders of the token. */
function createBoard({ all }: Queues, { path, token }: { path: string; token: string }): Hono {
  const adapter = new HonoAdapter(serveStatic)
  adapter.setBasePath(path)
  createBullBoard({ queues: all.map(lookAt), serverAdapter: adapter })
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
 * The mirror as the endpoints look at it. They must answer even while its server is frozen or cut off, so a look-up without an answer in time
 * is refused as `gone`. While too many look-ups wait for an answer, each further one is refused at once.
 */
export function answeringInTime(mirror: Mirror, { lookMs, countMs }: Limits = LIMITS): Mirror {
  let late = 0
  const unanswered = () => new MirrorUnusable(`${mirror.file}: the server does not answer in time.`, { code: 'gone' })

  async function inTime(ask: () => Promise<unknown>, ms: number): Promise<unknown> {
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

  return new Proxy(mirror, {
    get(target, verb) {
      const asked: unknown = Reflect.get(target, verb)
      if (typeof asked !== 'function') return asked
      const ms = verb === 'listFreshness' ? countMs : lookMs
      return (...filter: unknown[]) => inTime(async () => Reflect.apply(asked, target, filter), ms)
    },
  })
}
