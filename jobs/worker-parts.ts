import { folderBeside } from '../src/config/places.ts'
import type { Mirror, Standing } from '../src/store.ts'
import { UsageError } from '../src/errors/errors.ts'
import type { Logger } from '../src/log.ts'
import { IdleAgents } from '../src/source/connection/idle-agents.ts'
import { openBackend, type Backend } from './queue/backend.ts'
import { anotherMirrorNow, claimQueue } from './queue/mirror-of-queue.ts'
import { listCancellations } from './queue/cancellations.ts'
import { succeedsWithin, within } from './queue/deadline.ts'
import { followConfig, type FollowedConfig } from './configuration/followed-config.ts'
import type { LiveConfig } from './configuration/live-config.ts'
import { CancellableJobs } from './run/cancellable-jobs.ts'
import { openAwaited, type Awaiting } from '../src/run/await-mirror.ts'
import { openLiveMirror } from './run/live-mirror.ts'
import { quickRunEnded, startQuickWorker, type QuickWorker } from './run/quick-worker.ts'
import { watchPauses, type PauseWatch } from './pauses/pause-watch.ts'
import { type Listener, type Processing, mirrorForJob, MOST_STARTS, RunFailed } from './run/sync-job.ts'
import { isAsked, openQueues, putBackLeft, type Queues } from './queue/queues.ts'
import { type LimitEvent, LimitShare } from './limits/limit-share.ts'
import type { Timings } from './timings.ts'
import { randomUUID } from 'node:crypto'
import type { OpenSharedTurns } from '../src/run-organization.ts'
import { spacingMs } from '../src/source/pace/rate-limit.ts'
import type { Sleep } from '../src/machine/timers.ts'
import type { SharedLimits } from './limits/shared-limits.ts'
import { ReservedTurns } from './limits/reserved-turns.ts'
import type { JobSettings } from '../src/config/schema.ts'
import type { Trigger } from '../src/report.ts'
import { unlessForOthers, type Leaving } from './run/left-to-others.ts'
import { unlessPaused } from './pauses/put-off.ts'
import { backoffMs } from '../src/time/backoff.ts'
import { progressOf } from './queue/job-progress.ts'
import { createQueueWorker } from './queue/queue-worker.ts'

/** The parts of a worker, and how to stop them. */
export type Engine = {
  config: LiveConfig
  followed: FollowedConfig
  backend: Backend
  /** What is wrong where the queue has another mirror by now, in a sentence. */
  anotherMirror: () => Promise<string | undefined>
  mirror: Mirror
  queues: Queues
  pauses: PauseWatch
  syncWorker: SyncWorker
  /** Takes no job until it runs. */
  quickWorker: QuickWorker
  /**
   * Stops taking jobs, lets current pages be saved, puts unfinished jobs back, and closes everything, even if the queue does not
   * answer. Returns whether everything was closed in order.
   */
  stop(): Promise<boolean>
}

export type EngineOptions = {
  /** Whether to use the embedded queue, whatever the configuration says. */
  embedded: boolean
  listenerFor: (parts: Pick<Engine, 'mirror' | 'queues' | 'pauses'>) => Listener
  timings: Timings
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
  /** How long this process has had nothing to do. */
  log: Pick<Logger, 'info' | 'warn'>
  /** Ends the wait for a mirror whose server is away at the start. */
  signal?: AbortSignal
  /** Called once if the server of the mirror is away at the start, with how long it is waited for at most. */
  onMirrorAway?: Awaiting['onAway'] | undefined
  /** Called when the file of the mirror is no longer at its place, with what is there. */
  onReplaced?: (found: Standing) => void
  /** Called when another configuration was read, or a person asked for it. */
  onRead?: () => void
  /** Called once for each shared value that cannot be read: a newer version wrote it. */
  onUnreadable?: (name: string) => void
  /** Called when a newer version has changed the mirror, so that this worker is to end. */
  onOutdated: (error: unknown) => void
  /** Called when a rate limit that all workers share cannot be reached, and when it is reached again. */
  onLimit?: (event: LimitEvent) => void
}

/** Opens the mirror and the queue. No job is taken from the queue until `syncWorker.run()`. */
export async function openEngine(config: LiveConfig, options: EngineOptions): Promise<Engine> {
  const { embedded, listenerFor, timings, now, monotonicMs, log } = options
  const { onLimit, onOutdated, onRead = () => {} } = options
  const onUnreadable = oncePerName(options.onUnreadable ?? (() => {}))
  const address = embedded ? 'embedded' : config.current.queue
  if (address === undefined) throw new UsageError(NO_QUEUE)
  const mirror = await openInTime(config, options)
  try {
    const backend = await openBackend(address, { folder: folderBeside(config.current) })
    // Each job asks again: a queue that connects and then stalls must not keep the worker from stopping.
    await within(claimQueue(backend.values, mirror), CLAIM_MS, undefined, options.signal).catch(
      async (error: unknown) => {
        await within(backend.close(), LET_GO_MS, undefined).catch(() => {})
        throw error
      },
    )
    const queues = openQueues(backend)
    const isAlone = backend.kind === 'embedded'
    if (isAlone) await putBackLeft(queues)
    const { values } = backend
    const followed = followConfig(config, { lookMs: timings.configLookMs, log, onRead })
    const stopping = new AbortController()
    // No other process reaches an embedded queue, so that its pauses do not change.
    const pauseLookMs = isAlone ? timings.catchUpMs : timings.lookMs
    const pauses = watchPauses({ values, sync: queues.sync, lookMs: pauseLookMs, now, onUnreadable })
    const processing: Processing = {
      organizationOf: config.organizationOf,
      lookAgain: followed.lookAgain,
      mirror,
      rateLimits: new Map(),
      sharedTurns: sharedTurnsIn(backend.limits, { timings, monotonicMs, onEvent: onLimit }),
      agents: new IdleAgents(),
      listener: listenerFor({ mirror, queues, pauses }),
      onOutdated,
      quickRunEnded: (id, signal) => quickRunEnded({ queue: queues.quick, timings, monotonicMs }, id, signal),
      isAsked: (job) => isAsked(queues.sync, job),
      cancellable: new CancellableJobs({ list: cancelsOf(backend, onUnreadable), lookMs: timings.cancelLookMs }),
      stop: stopping.signal,
      timings,
      ...{ now, monotonicMs },
      random: Math.random,
    }
    const anotherMirror = () => anotherMirrorNow(values, mirror)
    const syncWorker = startSyncWorker(backend, { ...processing, anotherMirror, pauses }, config.current.jobs)
    const quickWorker = startQuickWorker(backend, { ...processing, anotherMirror, pauses, queues })
    return { config, followed, backend, anotherMirror, mirror, queues, pauses, syncWorker, quickWorker, stop }

    async function stop(): Promise<boolean> {
      for (const watch of [pauses, followed]) watch.stop()
      // Closed first, so that the jobs put back are not taken again.
      const closing = Promise.all([syncWorker, quickWorker].map((closed) => closed.close()))
      stopping.abort()
      // While the queue is gone, a worker would wait for it for ever.
      const inOrder = await succeedsWithin(
        closing.then(() => queues.close()),
        timings.closeMs,
      )
      await within(backend.close(), LET_GO_MS, undefined).catch(() => {})
      await mirror.close()
      return inOrder
    }
  } catch (error) {
    await mirror.close()
    throw error
  }
}

/** The mirror. While its server is away, it waits as long as a run. */
function openInTime(
  { current: { mirror, organizations } }: LiveConfig,
  { monotonicMs, signal = new AbortController().signal, onMirrorAway: onAway = () => {}, onReplaced }: EngineOptions,
): Promise<Mirror> {
  const awaiting = { organizations, monotonicMs, random: Math.random, signal, onAway }
  return openAwaited(() => openLiveMirror(mirror, { signal, onReplaced }), awaiting)
}

/** An embedded queue is open only in this process, so that no person can cancel its jobs. */
function cancelsOf({ kind, values }: Backend, onUnreadable: (name: string) => void) {
  return kind === 'embedded' ? undefined : () => listCancellations(values, onUnreadable)
}

/** Values are read again and again: what cannot be read is reported once. */
function oncePerName(report: (name: string) => void): (name: string) => void {
  const named = new Set<string>()
  return (name) => {
    if (!named.has(name)) report(name)
    named.add(name)
  }
}

const LET_GO_MS = 1000

/** How long the queue has to say at the start which mirror it has. */
const CLAIM_MS = 2000

const NO_QUEUE =
  'No queue is configured. Add `queue: redis://127.0.0.1:6379` to the configuration, set CUSTOMER_MIRROR_QUEUE, or pass ' +
  '--embedded to keep it beside the mirror.'

/** The rate limits of this worker that it shares with all other workers of its queue. Undefined where it has no other. */
export function sharedTurnsIn(
  limits: SharedLimits | undefined,
  options: {
    timings: Pick<Timings, 'lookMs'>
    monotonicMs: () => number
    sleep?: Sleep | undefined
    onEvent?: ((event: LimitEvent) => void) | undefined
  },
): OpenSharedTurns | undefined {
  if (limits === undefined) return undefined
  const { timings, monotonicMs, sleep, onEvent } = options
  const worker = randomUUID().slice(0, 8)
  return (name, requestsPerMinute) => {
    const { lookMs } = timings
    const spaced = { spacingMs: spacingMs(requestsPerMinute), monotonicMs }
    const share = new LimitShare({ limits, name, ...spaced, worker, lookMs, onEvent })
    return new ReservedTurns({ share, ...spaced, sleep })
  }
}

/** Another worker takes over the job of a dead one; a job is given up after its workers died this often. */
const MOST_STALLS = 3

type SyncWorker = ReturnType<typeof startSyncWorker>

/** Starts taking sync jobs, at most `concurrency` at the same time. */
function startSyncWorker(
  backend: Backend,
  processing: Processing & Leaving & { pauses: Pick<PauseWatch, 'latest'> },
  { concurrency }: JobSettings,
) {
  const { timings, now, random, cancellable } = processing
  return createQueueWorker<Trigger>(
    backend,
    'sync',
    // All three parameters are declared: BullMQ passes no signal to a processor with fewer.
    async (job, token, lost) =>
      unlessForOthers(job, token, processing, () =>
        cancellable.during(job, (cancelled) =>
          unlessPaused(job, token, processing, () => mirrorForJob(job, token, { lost, cancelled }, processing)),
        ),
      ),
    {
      concurrency,
      lockDuration: timings.lockMs,
      stalledInterval: timings.stalledMs,
      maxStalledCount: MOST_STALLS,
      maxStartedAttempts: MOST_STARTS,
      settings: {
        backoffStrategy: async (attempts, _type, error, job) => {
          const { firstRetryMs: firstMs, longestRetryMs: longestMs } = timings
          const leastMs = error instanceof RunFailed ? error.leastMs : 0
          const delayMs = leastMs + backoffMs(attempts, random(), { firstMs, longestMs })
          // Only for those who look into the queue; any other error is that of a job which the queue did not let end.
          const retryAtMs = now() + delayMs
          if (error instanceof RunFailed)
            await job?.updateProgress({ ...progressOf(job), unknownTo: 0, retryAtMs }).catch(() => {})
          return delayMs
        },
      },
    },
  )
}
