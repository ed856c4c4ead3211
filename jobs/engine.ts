import { folderBeside } from '../src/address/mirror-address.ts'
import { describeError, UsageError } from '../src/errors/errors.ts'
import type { Logger } from '../src/machine/log.ts'
import { openAwaited } from '../src/sync/await-mirror.ts'
import type { Mirror } from '../src/model/mirror.ts'
import type { Wait } from '../src/status/standing.ts'
import { compareConfigurations, type LiveConfig, type OtherWorkers } from './configuration.ts'
import { MirrorFailures } from './monitoring/health.ts'
import { createListener } from './monitoring/listener.ts'
import { createMetrics } from './monitoring/metrics.ts'
import { createNotifier } from './notify/notifier.ts'
import { watchPauses } from './pauses.ts'
import type { Publisher } from './publish/publisher.ts'
import { openBackend } from './queue/backend.ts'
import { succeedsWithin, within } from './queue/deadline.ts'
import { claimQueue } from './queue/mirror-of-queue.ts'
import type { Backend } from './queue/port.ts'
import { codeAndReason } from './queue/queue-faults.ts'
import { listWaits, openQueues, putBackLeft, type Queues } from './queue/queues.ts'
import { sharedTurnsIn, type LimitEvent } from './queue/shared-turns.ts'
import { CancellableJobs, listCancellations } from './run/cancellations.ts'
import { answeringInTime, openLiveMirror } from './run/live-mirror.ts'
import { startQuickWorker } from './run/quick-job.ts'
import type { Processing } from './run/run-for-job.ts'
import { startSyncWorker } from './run/sync-job.ts'
import type { Timings } from './timings.ts'

/** The parts of a worker, and how to stop them. */
export type Engine = ReturnType<typeof startParts>

type Opening = {
  /** Whether to use the embedded queue, whatever the configuration says. */
  embedded: boolean
  timings: Timings
  log: Logger
  publisher: Publisher
  /** Ends the wait for a mirror whose server is away at the start. */
  signal: AbortSignal
  /** Called when another configuration was read, or a person asked for it. */
  onRead: () => void
  /** Called when a newer version has changed the mirror, so that this worker is to end. */
  onOutdated: (error: unknown) => void
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
}

const LET_GO_MS = 500
/** How long the page and the metrics wait for the queue. */
const ASK_MS = 1000
/** How long the queue has to say at the start which mirror it has. */
const CLAIM_MS = 2000

const NO_QUEUE =
  'No queue is configured. Add `queue: redis://127.0.0.1:6379` to the configuration, set CUSTOMER_MIRROR_QUEUE, or pass ' +
  '--embedded to keep it beside the mirror.'

/** Opens the mirror and the queue. No worker takes a job from the queue until it runs. */
export async function openEngine(config: LiveConfig, opening: Opening): Promise<Engine> {
  const { embedded, signal } = opening
  const address = embedded ? 'embedded' : config.current.queue
  if (address === undefined) throw new UsageError(NO_QUEUE)
  const mirror = await openMirror(config, opening)
  try {
    const backend = await openBackend(address, { folder: folderBeside(config.current) })
    try {
      // A queue that connects and then stalls must not keep the worker from stopping.
      await within(claimQueue(backend.values, mirror), CLAIM_MS, undefined, signal)
      const queues = openQueues(backend)
      if (backend.kind === 'embedded') await putBackLeft(queues)
      return startParts(config, { ...opening, backend, mirror, queues })
    } catch (error) {
      await within(backend.close(), LET_GO_MS, undefined).catch(() => {})
      throw error
    }
  } catch (error) {
    await mirror.close()
    throw error
  }
}

/** The mirror. While its server is away, it waits as long as a run. */
function openMirror(
  { current: { mirror, organizations } }: LiveConfig,
  { signal, log, monotonicMs }: Opening,
): Promise<Mirror> {
  const open = () =>
    openLiveMirror(mirror, {
      signal,
      onReplaced: (found) => log.warn({ mirror }, found === 'none' ? GONE : REPLACED),
    })
  const onAway = (error: unknown, longestWaitMs: number) =>
    log.warn({ error: describeError(error), longestWaitMs }, 'mirror awaited')
  return openAwaited(open, { organizations, monotonicMs, random: Math.random, signal, onAway })
}

const GONE = 'mirror is gone from its place, a new one is made there'
const REPLACED = 'mirror was replaced, the file at its place is used'

type Opened = Opening & { backend: Backend; mirror: Mirror; queues: Queues }

function startParts(config: LiveConfig, opened: Opened) {
  const { timings, log, publisher, signal, onRead, onOutdated, backend, mirror, queues, now, monotonicMs } = opened
  const { values, limits } = backend
  const isAlone = backend.kind === 'embedded'
  const onUnreadable = oncePerName((name) => log.warn({ name }, 'value in the queue ignored, a newer version wrote it'))
  // No other process reaches an embedded queue, so that its pauses do not change.
  const pauseLookMs = isAlone ? timings.catchUpMs : timings.lookMs
  const pauses = watchPauses({ values, sync: queues.sync, lookMs: pauseLookMs, now, onUnreadable })
  const followed = config.follow(timings.configLookMs, onRead)
  const others = isAlone
    ? ALONE
    : compareConfigurations({ values, hash: () => config.hash, lookMs: timings.configShareMs, log, now })
  // Made once: the look-ups of all endpoints together hold few connections.
  const watchedMirror = answeringInTime(mirror)
  const mirrorFailures = new MirrorFailures(now)
  const waits = () => within(listWaits(queues), ASK_MS, new Map<string, Wait>()).catch(() => new Map<string, Wait>())
  const metrics = createMetrics({
    ...{ mirror: watchedMirror, queues, now, monotonicMs },
    organizations: () => config.current.organizations,
    pauses: () => pauses.latest(),
    waits,
  })
  const stopping = new AbortController()
  const processing: Processing = {
    organizationOf: config.organizationOf,
    lookAgain: config.lookAgain,
    ...{ mirror, queues, pauses },
    rateLimits: new Map(),
    sharedTurns:
      limits &&
      sharedTurnsIn({ limits, workers: others.workers, monotonicMs, onEvent: (event) => logLimit(log, event) }),
    listener: createListener({ metrics, mirrorFailures, mirror, publisher, log, monotonicMs }),
    onOutdated: (error) => {
      if (!signal.aborted) log.error({ error: describeError(error) }, 'mirror changed by a newer version, worker ends')
      onOutdated(error)
    },
    cancellable: new CancellableJobs({
      // An embedded queue is open only in this process, so that no person can cancel its jobs.
      list: isAlone ? undefined : () => listCancellations(values, onUnreadable),
      lookMs: timings.cancelLookMs,
    }),
    stop: stopping.signal,
    ...{ timings, now, monotonicMs, random: Math.random },
  }
  const syncWorker = startSyncWorker(backend, processing, config.current.jobs)
  const quickWorker = startQuickWorker(backend, processing)
  const notifier = createNotifier({ config, mirror, queues, backend, log, timings, now })
  syncWorker.on('active', ({ data }) => publisher.runStarted(data.organization))
  syncWorker.on('failed', (job) => publisher.runEnded(job?.data.organization ?? ''))
  syncWorker.on('stalled', (jobId) => {
    metrics.countTakenOver()
    log.warn({ jobId }, 'job taken over from a worker without a heartbeat')
  })
  return {
    ...{ config, others, backend, mirror, watchedMirror, mirrorFailures, metrics, queues },
    ...{ pauses, waits, syncWorker, quickWorker, notifyWorker: notifier.worker },
    /**
     * Stops taking jobs, lets current pages be saved, puts unfinished jobs back, and closes everything, even if the queue does not
     * answer. Returns whether everything was closed in order.
     */
    async stop() {
      for (const part of [pauses, followed, others, notifier]) part.stop()
      // Closed first, so that the jobs put back are not taken again.
      const closing = Promise.all([syncWorker, quickWorker, notifier.worker].map((worker) => worker.close()))
      stopping.abort()
      // While the queue is gone, a worker would wait for it for ever.
      const inOrder = await succeedsWithin(
        closing.then(() => queues.close()),
        timings.closeMs,
      )
      await within(backend.close(), LET_GO_MS, undefined).catch(() => {})
      await mirror.close()
      return inOrder
    },
  }
}

/** An embedded queue has one worker. */
const ALONE: OtherWorkers = { problem: () => undefined, workers: () => 1, stop: () => {} }

/** Values are read again and again: what cannot be read is reported once. */
function oncePerName(report: (name: string) => void): (name: string) => void {
  const named = new Set<string>()
  return (name) => {
    if (!named.has(name)) report(name)
    named.add(name)
  }
}

/** Logs once that a rate limit which all workers share was lost, and once that it is back. */
function logLimit(log: Logger, event: LimitEvent): void {
  const { limit } = event
  if (event.kind === 'limit-back') return log.info({ limit }, 'shared rate limit is back')
  const reason = codeAndReason(event.error)
  log.warn({ limit, workers: event.workers, reason }, 'shared rate limit is away, each worker takes its share of it')
}
