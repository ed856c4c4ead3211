import { once } from 'node:events'
import { hostname } from 'node:os'
import { processEnvironment } from '../src/config/environment.ts'
import { ConfigError } from '../src/errors/errors.ts'
import { createLog, type Logger } from '../src/machine/log.ts'
import { monotonicMs } from '../src/machine/timers.ts'
import { openEngine, type Engine } from './engine.ts'
import { openLiveConfig } from './configuration.ts'
import { serveHttp } from './monitoring/endpoints.ts'
import { NO_SCHEDULE, schedulesNothing, watched } from './monitoring/endpoints.ts'
import { within } from './queue/deadline.ts'
import { startPublisher } from './publish/publisher.ts'
import { codeAndReason } from './queue/queue-faults.ts'
import { watchQueue } from './queue/queue-faults.ts'
import { watchDueTimes } from './schedule/due-runs.ts'
import { requestMissedRuns, type Occasion } from './schedule/due-runs.ts'
import { TIMINGS, type Timings } from './timings.ts'

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
 * eight seconds, and throws MirrorUnusable in the second case.
 */
export async function runWorker(options: WorkerOptions, { stderr, onHangUp, ...asked }: Surroundings): Promise<void> {
  const outdated = new AbortController()
  const signal = AbortSignal.any([asked.signal, outdated.signal])
  const startedAtMs = Date.now()
  const timings = { ...TIMINGS, ...options.timings }
  // From the beginning: a signal without a listener ends the process.
  let readNow = async () => {}
  onHangUp?.(() => void readNow())
  const token = boardToken()
  const log = createLog({ level: options.logLevel, stream: stderr })
  const { embedded } = options
  const opening = { file: options.config, cwd: process.cwd(), embedded, log, now: Date.now }
  const config = await openLiveConfig(opening)
  const publisher = startPublisher({ config, log, timings, monotonicMs })
  let onRead = () => {}
  const engine = await openEngine(config, {
    ...{ embedded, timings, log, publisher, signal, now: Date.now, monotonicMs },
    onRead: () => onRead(),
    onOutdated: (error) => outdated.abort(error),
  }).catch(async (error: unknown) => {
    await publisher.stop()
    throw error
  })
  readNow = config.readNow
  const catchUp = catchingUp(engine, { log, signal })
  onRead = () => {
    engine.syncWorker.concurrency = config.current.jobs.concurrency
    if (schedulesNothing(config)) log.warn(NO_SCHEDULE)
    void catchUp('time')
  }
  const watches = [
    watchWorkers(engine, { timings, log, catchUp }),
    watchDueTimes({ config, queues: engine.queues, now: Date.now }),
  ]
  const stop = async () => {
    for (const watch of watches) watch.stop()
    // Also a mirror whose server is frozen keeps no worker from stopping.
    const stopped = Promise.all([engine.stop(), publisher.stop()])
    const [inOrder] = await within(stopped, timings.closeMs + LET_GO_MS, [false])
    return inOrder
  }
  const names = [hostname(), ...(options.http.names ?? [])]
  const http = await serveHttp(watched(engine, { token, now: Date.now, monotonicMs }), {
    ...options.http,
    names,
  }).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  log.info({ http: http.origin }, 'worker starting')
  if (schedulesNothing(config)) log.warn(NO_SCHEDULE)
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  // A queue that connects and then stalls must not keep the worker from stopping.
  await Promise.race([catchUp('start', startedAtMs), stopped])
  if (!signal.aborted) takeJobs(engine, { log, http: http.origin })
  publisher.compareSoon()
  const again = setInterval(() => {
    publisher.compareSoon()
    void catchUp('time')
  }, timings.catchUpMs)
  await stopped
  clearInterval(again)
  log.info('worker stopping')
  const inOrder = await stop()
  await http.close()
  log.info({ inOrder }, 'worker stopped')
  outdated.signal.throwIfAborted()
}

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

/** Requests missed runs after the queue was lost or has lost a job. */
function watchWorkers(
  { backend, queues, syncWorker, quickWorker, notifyWorker }: Engine,
  { timings, log, catchUp }: { timings: Timings; log: Logger; catchUp: CatchUp },
): { stop: () => void } {
  const onBack = () => void catchUp('queue-back')
  syncWorker.on('lockRenewalFailed', onBack)
  const { write } = backend
  const workers = [syncWorker, quickWorker, notifyWorker]
  return watchQueue({ queues: queues.all, workers, write, log, timings, monotonicMs, random: Math.random, onBack })
}

function takeJobs(
  { backend, syncWorker, quickWorker, notifyWorker }: Engine,
  { log, http }: { log: Logger; http: string },
): void {
  // A worker that failed and was resumed already runs.
  for (const worker of [syncWorker, quickWorker, notifyWorker].filter((each) => !each.isRunning()))
    worker.run().catch((error: unknown) => log.error({ reason: codeAndReason(error) }, 'worker ended unexpectedly'))
  const { kind, place, telemetry } = backend
  log.info({ queue: kind, place, http, traced: telemetry !== undefined }, 'worker started')
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

/** How long what is left may take to close, once the queue had its time. */
const LET_GO_MS = 1000
