import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { describeError, ConfigError } from '../src/errors/errors.ts'
import { createLog, type Logger } from '../src/log.ts'
import { monotonicMs } from '../src/machine/timers.ts'
import { openEngine, type Engine } from './worker-parts.ts'
import { answeringInTime } from './monitoring/answer-in-time.ts'
import { serveHttp } from './monitoring/http.ts'
import { openLiveConfig, type LiveConfig } from './configuration/live-config.ts'
import { createMetrics } from './monitoring/metrics.ts'
import { MirrorFailures } from './monitoring/mirror-failures.ts'
import { watched, type Observed } from './monitoring/watched.ts'
import { codeAndReason } from './queue/queue-refusal.ts'
import { watchQueue } from './queue/queue-watch.ts'
import { startNotifier } from './notify/notifier.ts'
import { startPublisher, type Publisher } from './publish/publisher.ts'
import { createListener } from './monitoring/listener.ts'
import { watchDueTimes } from './schedule/due-watch.ts'
import { TIMINGS, type Timings } from './timings.ts'
import { compareConfigurations } from './configuration/other-configurations.ts'
import { requestMissedRuns, type Occasion } from './schedule/missed-runs.ts'
import type { LimitEvent } from './limits/limit-share.ts'
import { processEnvironment } from '../src/config/environment.ts'

export type WorkerOptions = {
  config?: string | undefined
  embedded: boolean
  /** The address of the endpoints for monitors, and more names under which clients may ask for them. */
  http: { host: string; port: number; names?: readonly string[] }
  logLevel: string
  timings?: Partial<Timings> | undefined
}

type Surroundings = {
  signal: AbortSignal
  stderr: NodeJS.WritableStream
  /** From now on SIGHUP calls the listener. */
  onHangUp?: ((listener: () => void) => void) | undefined
}

/**
 * Mirrors every organization on its schedule until the signal is aborted, or a newer version has changed the mirror; then stops within
 * ten seconds, and throws MirrorUnusable in the second case.
 */
export async function runWorker(options: WorkerOptions, { stderr, onHangUp, ...asked }: Surroundings): Promise<void> {
  const { embedded } = options
  const outdated = new AbortController()
  const signal = AbortSignal.any([asked.signal, outdated.signal])
  const startedAtMs = Date.now()
  const timings = { ...TIMINGS, ...options.timings }
  // From the beginning: a signal without a listener ends the process.
  let readNow = async () => {}
  onHangUp?.(() => void readNow())
  const token = boardToken()
  const log = createLog({ level: options.logLevel, stream: stderr })
  const config = await openLiveConfig({ file: options.config, cwd: process.cwd(), embedded }, Date.now)
  const publisher = startPublisher({ config, log, timings, monotonicMs })
  let lookForMissed = (): unknown => undefined
  const onRead = () => lookForMissed()
  const onOutdated = (error: unknown) => outdated.abort(error)
  const measured = { ...options, timings, log, publisher, onRead, onOutdated, signal }
  const { engine, observed } = await openMeasuredEngine(config, measured).catch(async (error: unknown) => {
    await publisher.stop()
    throw error
  })
  readNow = () => engine.followed.readNow()
  const catchUp = catchingUp(engine, { log, signal })
  lookForMissed = () => {
    engine.syncWorker.concurrency = config.current.jobs.concurrency
    return catchUp('time')
  }
  const watch = watchWorkers(engine, { timings, log, catchUp })
  const dueWatch = watchDueTimes({ config, queues: engine.queues, now: Date.now })
  const others = othersOf(engine, { timings, log })
  const notifier = startNotifier({ ...engine, log, timings, now: Date.now, random: Math.random, freshId: randomUUID })
  const stop = async () => {
    for (const beside of [watch, notifier, dueWatch, others]) beside.stop()
    const [inOrder] = await Promise.all([engine.stop(), publisher.stop()])
    return inOrder
  }
  const http = await serveHttp(watched(engine, { ...observed, others, token, now: Date.now, monotonicMs }), {
    ...options.http,
    names: [hostname(), ...(options.http.names ?? [])],
  }).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  log.info({ http: http.origin }, 'worker starting')
  const begin = () => takeJobs(engine, { log, http: http.origin })
  await workUntil(signal, { begin, startedAtMs, catchUp, publisher, catchUpMs: timings.catchUpMs })
  log.info('worker stopping')
  const inOrder = await stop()
  await http.close()
  log.info({ inOrder }, 'worker stopped')
  outdated.signal.throwIfAborted()
}

type Working = {
  /** Takes the first jobs. */
  begin: () => void
  startedAtMs: number
  catchUp: CatchUp
  publisher: Publisher
  catchUpMs: number
}

/** Begins once missed runs were looked for, and looks for them and for old copies again and again until `signal` is aborted. */
async function workUntil(
  signal: AbortSignal,
  { begin, startedAtMs, catchUp, publisher, catchUpMs }: Working,
): Promise<void> {
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  // A queue that connects and then stalls must not keep the worker from stopping.
  await Promise.race([catchUp('start', startedAtMs), stopped])
  if (!signal.aborted) begin()
  publisher.compareSoon()
  const again = setInterval(() => {
    publisher.compareSoon()
    void catchUp('time')
  }, catchUpMs)
  await stopped
  clearInterval(again)
}

type Measured = {
  embedded: boolean
  timings: Timings
  log: Logger
  publisher: Publisher
  onRead: () => void
  onOutdated: (error: unknown) => void
  signal: AbortSignal
}

/** Opens an engine whose runs are counted and logged. */
async function openMeasuredEngine(
  config: LiveConfig,
  { embedded, timings, log, publisher, onRead, onOutdated, signal }: Measured,
): Promise<{ engine: Engine; observed: Observed }> {
  const observing = Promise.withResolvers<Observed>()
  const engine = await openEngine(config, {
    embedded,
    now: Date.now,
    monotonicMs,
    onUnreadable: (name) => log.warn({ name }, 'value in the queue ignored, a newer version wrote it'),
    onRead,
    onLimit: (event) => logLimit(log, event),
    onOutdated: (error) => {
      if (!signal.aborted) log.error({ error: describeError(error) }, 'mirror changed by a newer version, worker ends')
      onOutdated(error)
    },
    timings,
    log,
    signal,
    onMirrorAway: (error, longestWaitMs) => log.warn({ error: describeError(error), longestWaitMs }, 'mirror awaited'),
    onReplaced: (found) => log.warn({ mirror: config.current.mirror }, found === 'none' ? GONE : REPLACED),
    listenerFor: (parts) => {
      const organizations = () => config.current.organizations
      const pauses = () => parts.pauses.latest()
      // Made once: the look-ups of all endpoints together hold few connections.
      const mirror = answeringInTime(parts.mirror)
      const metrics = createMetrics({ ...parts, mirror, pauses, organizations, now: Date.now, monotonicMs })
      const mirrorFailures = new MirrorFailures(Date.now)
      observing.resolve({ metrics, mirror, mirrorFailures })
      return createListener({ metrics, mirrorFailures, mirror: parts.mirror, publisher, log, monotonicMs })
    },
  })
  const observed = await observing.promise
  engine.syncWorker.on('active', ({ data }) => publisher.runStarted(data.organization))
  engine.syncWorker.on('stalled', () => observed.metrics.countTakenOver())
  engine.syncWorker.on('failed', (job) => publisher.runEnded(job?.data.organization ?? ''))
  return { engine, observed }
}

const GONE = 'mirror is gone from its place, a new one is made there'
const REPLACED = 'mirror was replaced, the file at its place is used'

/** Requests missed runs. Never rejects: failures are logged, and a later look follows. */
type CatchUp = (occasion: Occasion, askedAtMs?: number) => Promise<void>

function catchingUp(
  { config, queues, mirror, backend: { values } }: Engine,
  { log, signal }: { log: Logger; signal: AbortSignal },
): CatchUp {
  const look = async (occasion: Occasion, askedAtMs: number | undefined) => {
    try {
      const { organizations } = config.current
      const nowMs = Date.now()
      const looking = { queues, mirror, values, organizations, occasion, nowMs, askedAtMs: askedAtMs ?? nowMs }
      const requested = await requestMissedRuns(looking)
      if (requested.length > 0) log.info({ organizations: requested }, 'missed runs requested')
    } catch (error) {
      // The stop of the worker closes the queue under a look.
      if (!signal.aborted) log.warn({ reason: codeAndReason(error) }, 'missed runs could not be looked for')
    }
  }
  let last = Promise.resolve()
  return (occasion, askedAtMs) => (last = last.then(() => look(occasion, askedAtMs)))
}

/** An embedded queue has one worker. */
function othersOf({ backend, config }: Engine, { timings, log }: { timings: Timings; log: Logger }) {
  if (backend.kind === 'embedded') return { problem: () => undefined, stop: () => {} }
  const { values } = backend
  return compareConfigurations({ values, hash: () => config.hash, lookMs: timings.configShareMs, log, now: Date.now })
}

/** Requests missed runs after the queue was lost or has lost a job. */
function watchWorkers(
  { backend, queues, syncWorker, quickWorker }: Engine,
  { timings, log, catchUp }: { timings: Timings; log: Logger; catchUp: CatchUp },
): { stop: () => void } {
  const askAgain = () => void catchUp('queue-back')
  syncWorker.on('lockRenewalFailed', askAgain)
  syncWorker.on('stalled', (jobId) => log.warn({ jobId }, 'job taken over from a worker without a heartbeat'))
  return watchQueue({
    queues: queues.all,
    workers: [syncWorker, quickWorker],
    ping: backend.ping,
    write: backend.write,
    ...{ log, timings, monotonicMs },
    random: Math.random,
    onBack: askAgain,
  })
}

function takeJobs({ backend, syncWorker, quickWorker }: Engine, { log, http }: { log: Logger; http: string }): void {
  // A worker that failed and was resumed already runs.
  for (const worker of [syncWorker, quickWorker].filter((each) => !each.isRunning()))
    worker.run().catch((error: unknown) => log.error({ reason: codeAndReason(error) }, 'worker ended unexpectedly'))
  const { kind, place, telemetry } = backend
  log.info({ queue: kind, place, http, traced: telemetry !== undefined }, 'worker started')
}

/** Logs once that a rate limit which all workers share was lost, and once that it is back. */
function logLimit(log: Pick<Logger, 'info' | 'warn'>, event: LimitEvent): void {
  const { limit } = event
  if (event.kind === 'limit-back') return log.info({ limit }, 'shared rate limit is back')
  const { workers, error } = event
  log.warn(
    { limit, workers, reason: codeAndReason(error) },
    'shared rate limit is away, each worker takes its share of it',
  )
}

/** The token for the pages at /queues; undefined when there is none. Short tokens are refused. */
function boardToken(): string | undefined {
  const token = processEnvironment()['CUSTOMER_MIRROR_BOARD_TOKEN']
  if (token === undefined || token === '') return undefined
  if (token.length >= SHORTEST) return token
  throw new ConfigError([
    { file: 'environment CUSTOMER_MIRROR_BOARD_TOKEN', message: `must have at least ${SHORTEST} characters` },
  ])
}

const SHORTEST = 16
