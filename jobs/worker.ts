import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { boardToken } from '../src/config/board-token.ts'
import { describeError } from '../src/errors/errors.ts'
import { createLog, type Logger } from '../src/log.ts'
import { idleMs, monotonicMs } from '../src/machine/monotonic-clock.ts'
import { openEngine, type Engine } from './worker-parts.ts'
import { answeringInTime } from './monitoring/answer-in-time.ts'
import { serveHttp } from './monitoring/http.ts'
import { openLiveConfig, type LiveConfig } from './configuration/live-config.ts'
import { logLimit } from './monitoring/limit-log.ts'
import { createMetrics } from './monitoring/metrics.ts'
import { MirrorFailures } from './monitoring/mirror-failures.ts'
import { watched, type Observed } from './monitoring/watched.ts'
import { codeAndReason } from './queue/queue-refusal.ts'
import { watchQueue } from './queue/queue-watch.ts'
import { startNotifier } from './notify/notifier.ts'
import { startPublisher, type Publisher } from './publish/publisher.ts'
import { createReconciler, type Reconcile } from './schedule/reconciler.ts'
import { createListener } from './monitoring/listener.ts'
import { logUnknown } from './monitoring/run-log.ts'
import { startTickWorker, type TickWorker } from './schedule/tick-worker.ts'
import { TIMINGS, type Timings } from './timings.ts'
import { watchConfig } from './configuration/watch-config.ts'

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
  let readNow = () => {}
  let reconcile: Reconcile = async () => {}
  onHangUp?.(() => readNow())
  const token = boardToken()
  const log = createLog({ level: options.logLevel, stream: stderr })
  const config = await openLiveConfig({ file: options.config, cwd: process.cwd(), embedded }, Date.now)
  const publisher = startPublisher({ config, log, timings, monotonicMs })
  const onSetBack = () => void reconcile({ wasSetBack: true })
  const onOutdated = (error: unknown) => outdated.abort(error)
  const measured = { ...options, timings, log, publisher, onSetBack, onOutdated, signal }
  const { engine, observed } = await openMeasuredEngine(config, measured).catch(async (error: unknown) => {
    await publisher.stop()
    throw error
  })
  const { followed } = engine
  const tickWorker = startTickWorker(engine.backend, {
    ...engine,
    organizationOf: config.organizationOf,
    mayComeLater: followed.mayComeLater,
    listener: { onUnknown: (organization) => logUnknown(log, organization) },
    timings,
    now: Date.now,
  })
  reconcile = createReconciler(engine, { now: Date.now, log, signal })
  const watch = watchWorkers(engine, tickWorker, { timings, log, reconcile })
  const configWatch = watchConfig(followed, { reconcile, timings })
  readNow = configWatch.readNow
  const notifier = startNotifier({ ...engine, log, timings, now: Date.now, random: Math.random, freshId: randomUUID })
  const stop = async () => {
    for (const beside of [watch, configWatch, notifier]) beside.stop()
    const [inOrder] = await Promise.all([engine.stop([tickWorker]), publisher.stop()])
    return inOrder
  }
  const http = await serveHttp(watched(engine, tickWorker, { ...observed, token, now: Date.now, monotonicMs }), {
    ...options.http,
    names: [hostname(), ...(options.http.names ?? [])],
  }).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  log.info({ http: http.origin }, 'worker starting')
  const begin = () => takeJobs(engine, tickWorker, { log, http: http.origin })
  await workUntil(signal, { begin, startedAtMs, reconcile, publisher, reconcileMs: timings.reconcileMs })
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
  reconcile: Reconcile
  publisher: Publisher
  reconcileMs: number
}

/** Begins once the schedules are compared, and compares schedules and copies again and again until `signal` is aborted. */
async function workUntil(
  signal: AbortSignal,
  { begin, startedAtMs, reconcile, publisher, reconcileMs }: Working,
): Promise<void> {
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  // A queue that connects and then stalls must not keep the worker from stopping.
  await Promise.race([reconcile({ startedAtMs }), stopped])
  if (!signal.aborted) begin()
  publisher.compareSoon()
  const again = setInterval(() => {
    publisher.compareSoon()
    void reconcile()
  }, reconcileMs)
  await stopped
  clearInterval(again)
}

type Measured = {
  embedded: boolean
  timings: Timings
  log: Logger
  publisher: Publisher
  onSetBack: () => void
  onOutdated: (error: unknown) => void
  signal: AbortSignal
}

/** Opens an engine whose runs are counted and logged. */
async function openMeasuredEngine(
  config: LiveConfig,
  { embedded, timings, log, publisher, onSetBack, onOutdated, signal }: Measured,
): Promise<{ engine: Engine; observed: Observed }> {
  const observing = Promise.withResolvers<Observed>()
  const engine = await openEngine(config, {
    embedded,
    now: Date.now,
    monotonicMs,
    onUnreadable: (name) => log.warn({ name }, 'value in the queue ignored, a newer version wrote it'),
    idleMs,
    onSetBack: (jobs) => {
      log.warn({ jobs }, 'clock set back, waits begin anew')
      onSetBack()
    },
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

/** Requests due runs again after the queue was lost or has lost a job. */
function watchWorkers(
  { backend, queues, syncWorker, quickWorker }: Engine,
  tickWorker: TickWorker,
  { timings, log, reconcile }: { timings: Timings; log: Logger; reconcile: Reconcile },
): { stop: () => void } {
  const askAgain = () => void reconcile()
  syncWorker.on('lockRenewalFailed', askAgain)
  syncWorker.on('stalled', (jobId) => log.warn({ jobId }, 'job taken over from a worker without a heartbeat'))
  return watchQueue({
    queues: queues.all,
    workers: [syncWorker, quickWorker, tickWorker],
    ping: backend.ping,
    write: backend.write,
    ...{ log, timings, monotonicMs },
    random: Math.random,
    onBack: askAgain,
  })
}

function takeJobs(
  { backend, syncWorker, quickWorker }: Engine,
  tickWorker: TickWorker,
  { log, http }: { log: Logger; http: string },
): void {
  // A worker that failed and was resumed already runs.
  for (const worker of [syncWorker, quickWorker, tickWorker].filter((each) => !each.isRunning()))
    worker.run().catch((error: unknown) => log.error({ reason: codeAndReason(error) }, 'worker ended unexpectedly'))
  const { kind, place, telemetry } = backend
  log.info({ queue: kind, place, http, traced: telemetry !== undefined }, 'worker started')
}
