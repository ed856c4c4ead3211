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
import type { Listener, Processing } from './run/sync-job.ts'
import { isAsked, openQueues, putBackLeft, type Queues } from './queue/queues.ts'
import type { LimitEvent } from './limits/limit-share.ts'
import { sharedTurnsIn } from './limits/shared-turns.ts'
import { startSyncWorker, type SyncWorker } from './run/sync-worker.ts'
import type { Timings } from './timings.ts'

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
    await claimQueue(backend.values, mirror)
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
      isAsked: (jobId) => isAsked(queues.sync, jobId),
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

const NO_QUEUE =
  'No queue is configured. Add `queue: redis://127.0.0.1:6379` to the configuration, set CUSTOMER_MIRROR_QUEUE, or pass ' +
  '--embedded to keep it beside the mirror.'
