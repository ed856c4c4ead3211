import { once } from 'node:events'
import { hostname } from 'node:os'
import { compareConfigurations, type LiveConfig, openLiveConfig } from './configuration.ts'
import { NO_SCHEDULE, schedulesNothing, serveHttp, watched, answeringInTime } from './monitoring/endpoints.ts'
import { createListener } from './monitoring/listener.ts'
import { createMetrics, overviewFacts } from './monitoring/metrics.ts'
import { createNotifier } from './notify.ts'
import { watchPauses } from './pauses.ts'
import { startPublisher } from './publisher.ts'
import { claimQueue, openBackend } from './queue/backend.ts'
import { TIMINGS, type Timings } from './timings.ts'
import { ANSWER_MS, KINDS, ofEachKind, OPTIONAL_ANSWER_MS } from './queue/port.ts'
import { codeAndReason, watchQueue } from './queue/queue-faults.ts'
import { listWaits, openQueues, putBackLeft } from './queue/queues.ts'
import { sharedTurnsIn } from './queue/shared-turns.ts'
import { type Processing, startRunWorker } from './run-job.ts'
import { dueTimesLook, type Occasion, requestMissedRuns } from './schedule/due-runs.ts'
import { folderBeside } from '../src/address/mirror-address.ts'
import { describeError, UsageError } from '../src/errors/errors.ts'
import { createLog, type Logger } from '../src/machine/log.ts'
import { monotonicMs, repeatedly, succeeds, within } from '../src/machine/timers.ts'
import { openMirror, replaced } from '../src/store/mirror.ts'
import { openAwaited } from '../src/sync/await-mirror.ts'

export type WorkerOptions = {
  config?: string | undefined
  /** Whether to use the embedded queue, whatever the configuration says. */
  embedded: boolean
  /** The address of the endpoints for monitors, and more names under which clients may ask for them. */
  http: { host: string; port: number; names?: readonly string[] }
  logLevel: string
  timings?: Partial<Timings> | undefined
}

/** Mirrors on schedule until the signal is aborted, then stops within eight seconds; also with an error, where only another process can go on. */
export async function runWorker(
  options: WorkerOptions,
  { stderr, ...asked }: { signal: AbortSignal; stderr: NodeJS.WritableStream },
): Promise<void> {
  const { embedded, http } = options
  const ending = new AbortController()
  const end = (error: unknown) => ending.abort(error)
  const signal = AbortSignal.any([asked.signal, ending.signal])
  const startedAtMs = Date.now()
  const log = createLog({ level: options.logLevel, stream: stderr })
  const timings = { ...TIMINGS, ...options.timings }
  const config = await openLiveConfig({ file: options.config, cwd: process.cwd(), embedded, log, now: Date.now })
  const common = { config, log, timings, signal, end }
  const stores = await openStores(embedded, common)
  const { backend, queues } = stores
  const onBack = () => void catchUp('jobs-lost')
  const { stop: stopParts, ...parts } = startParts(common, stores, onBack)
  const { syncWorker, workers, publisher } = parts
  const catchUp = catchingUp(stores, common, parts.pauses)
  syncWorker.on('lockRenewalFailed', onBack)
  const warnOfNothing = () => schedulesNothing(config) && log.warn(NO_SCHEDULE)
  const onRead = () => {
    syncWorker.concurrency = config.current.jobs.concurrency
    warnOfNothing()
    void catchUp('time')
  }
  const again = () => {
    publisher.compareSoon()
    void catchUp('time')
  }
  const watching = { queues: queues.all, workers, write: backend.write, log, timings, monotonicMs }
  const timer = setInterval(again, timings.catchUpMs)
  const watches = [
    { stop: () => clearInterval(timer) },
    config.follow(timings.configLookMs, onRead),
    watchQueue({ ...watching, random: Math.random, onBack }),
    repeatedly(timings.dueLookMs, dueTimesLook({ config, queues, now: Date.now })),
  ]
  const stop = async () => {
    for (const watch of watches) watch.stop()
    // Also a mirror whose server is frozen keeps no worker from stopping.
    return within(stopParts(), timings.closeMs + CLOSE_MS.all, false)
  }
  const names = [hostname(), ...(http.names ?? [])]
  const serving = serveHttp(watched({ ...parts, backend, config }), { ...http, names })
  await serving.catch(stop)
  const server = await serving
  log.info({ http: server.origin }, 'worker starting')
  warnOfNothing()
  publisher.compareSoon()
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  // A queue that connects and then stalls must not keep the worker from stopping.
  await Promise.race([catchUp('start', startedAtMs), stopped])
  if (!signal.aborted) {
    // A worker that failed and was resumed already runs.
    for (const worker of workers.filter((each) => !each.isRunning()))
      worker.run().catch((error: unknown) => log.error({ reason: codeAndReason(error) }, 'worker ended unexpectedly'))
    log.info({ queue: backend.kind, place: backend.place, http: server.origin }, 'worker started')
  }
  await stopped
  if (ending.signal.aborted) log.error({ error: describeError(ending.signal.reason) }, 'worker cannot go on, and ends')
  log.info('worker stopping')
  const inOrder = await stop()
  await server.close()
  log.info({ inOrder }, 'worker stopped')
  ending.signal.throwIfAborted()
}

/** How long what is left may take to close, once the queue had its time. */
const CLOSE_MS = { backend: 500, all: 1000 }

/** Requests missed runs, one look after the other. Never rejects: failures are logged, and a later look follows. */
function catchingUp({ queues, mirror, backend }: Stores, common: Common, pauses: Processing['pauses']) {
  const { config, log, signal, end } = common
  const look = async (occasion: Occasion, askedAtMs: number) => {
    try {
      // A queue that lost what it held may have let another mirror in.
      const taken = occasion === 'start' ? undefined : await claimQueue(backend.values, mirror)
      if (taken !== undefined) return end(taken)
      const [{ organizations }, nowMs] = [config.current, Date.now()]
      const looking = { queues, mirror, values: backend.values, organizations, pauses: await pauses.latest() }
      const requested = await requestMissedRuns({ ...looking, occasion, nowMs, askedAtMs })
      if (requested.length > 0) log.info({ organizations: requested }, 'missed runs requested')
    } catch (error) {
      if (describeError(error).code === 'replaced') return end(error)
      // The stop of the worker closes the queue under a look.
      if (!signal.aborted) log.warn({ reason: codeAndReason(error) }, 'missed runs could not be looked for')
    }
  }
  let last = Promise.resolve()
  return (occasion: Occasion, askedAtMs = Date.now()): Promise<void> =>
    (last = last.then(() => look(occasion, askedAtMs)))
}

type Common = {
  config: LiveConfig
  log: Logger
  timings: Timings
  signal: AbortSignal
  end: (error: unknown) => void
}

type Stores = Awaited<ReturnType<typeof openStores>>

/** Opens the mirror and the queue. While the server of the mirror is away, it waits as long as a run. */
async function openStores(embedded: boolean, { config, log, signal, end }: Common) {
  const { queue, mirror: place, organizations } = config.current
  const address = embedded ? 'embedded' : queue
  if (address === undefined) throw new UsageError(NO_QUEUE)
  const mirror = await openAwaited(() => openMirror(place, { signal, waitsOnceStopped: true }), {
    ...{ organizations, monotonicMs, random: Math.random, signal },
    onAway: (error, longestWaitMs) => log.warn({ error: describeError(error), longestWaitMs }, 'mirror awaited'),
  })
  let closeBackend = async () => {}
  try {
    const backend = await openBackend(address, { folder: folderBeside(config.current), onEnded: end })
    closeBackend = backend.close
    // A queue that connects and then stalls must not keep the worker from stopping.
    const taken = await within(claimQueue(backend.values, mirror), ANSWER_MS, undefined, signal)
    if (taken !== undefined) throw taken
    const queues = openQueues(backend)
    if (backend.kind === 'embedded') await putBackLeft(queues)
    return { mirror, backend, queues }
  } catch (error) {
    await within(closeBackend(), CLOSE_MS.backend, undefined).catch(() => {})
    await mirror.close()
    throw error
  }
}

const NO_QUEUE =
  'No queue is configured. Add `queue: redis://127.0.0.1:6379` to the configuration, set CUSTOMER_MIRROR_QUEUE, or pass ' +
  '--embedded to keep it beside the mirror.'

/** The parts of a worker, and how to stop them. No worker takes a job from the queue until it runs. */
function startParts({ config, log, timings, end }: Common, { backend, mirror, queues }: Stores, onBack: () => void) {
  const { values } = backend
  const now = Date.now
  const pauses = watchPauses({ values, lookMs: timings.lookMs, now, onChange: onBack })
  const comparing = { values, hash: () => config.hash, lookMs: timings.configShareMs, log, now }
  const isAlone = backend.kind === 'embedded'
  const others = isAlone ? undefined : compareConfigurations(comparing)
  // A place that cannot be looked at is reported by what needs the mirror.
  const place = repeatedly(timings.lookMs, async () => {
    const found = mirror.standing()
    if (found !== 'same') end(replaced(mirror.file, found))
  })
  const looking = {
    // Made once: the look-ups of all endpoints together hold few connections.
    mirror: answeringInTime(mirror),
    facts: async () => {
      const asked = within(listWaits(queues), OPTIONAL_ANSWER_MS, undefined).catch(() => undefined)
      const [known, waits] = await Promise.all([pauses.latest(), asked])
      const moment = { pauses: known, waits, nowMs: now(), monotonicMs: monotonicMs() }
      return overviewFacts(config.current.organizations, moment)
    },
  }
  const metrics = createMetrics(queues)
  const publisher = startPublisher({ config, ...looking, log, timings, monotonicMs })
  const stopping = new AbortController()
  const processing: Processing = {
    organizationOf: (id) => config.current.organizations.find((organization) => organization.id === id),
    ...{ mirror, queues, values, pauses },
    rateLimits: new Map(),
    sharedTurns: others && sharedTurnsIn({ values, workers: others.workers, monotonicMs, log }),
    listener: createListener({ metrics, mirror, publisher, log, monotonicMs }),
    end,
    stop: stopping.signal,
    ...{ timings, now, monotonicMs, random: Math.random },
  }
  const { concurrency } = config.current.jobs
  const workerOf = ofEachKind((kind) => startRunWorker(kind, backend, processing, KINDS[kind].atOnce ?? concurrency))
  const syncWorker = workerOf.sync
  const notifier = createNotifier({ config, mirror, queues, backend, log, timings, now })
  const runners = Object.values(workerOf)
  const workers = [...runners, notifier.worker]
  syncWorker.on('stalled', (jobId) => {
    metrics.countTakenOver()
    log.warn({ jobId }, 'job taken over from a worker without a heartbeat')
  })
  return {
    ...{ others, pauses, looking, metrics, publisher, syncWorker, runners, workers },
    /** Lets current pages be saved, puts unfinished jobs back, and closes everything. Returns whether that was done in order. */
    stop: async () => {
      for (const part of [place, pauses, others, notifier]) part?.stop()
      // Closed first, so that the jobs put back are not taken again.
      const closing = Promise.all(workers.map((worker) => worker.close()))
      stopping.abort()
      const published = publisher.stop()
      // While the queue is gone, a worker would wait for it for ever.
      const inOrder = await within(succeeds(closing.then(() => queues.close())), timings.closeMs, false)
      await within(backend.close(), CLOSE_MS.backend, undefined).catch(() => {})
      await Promise.all([published, mirror.close()])
      return inOrder
    },
  }
}
