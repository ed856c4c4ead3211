import type { Config } from '../../src/config/read-config.ts'
import { Interrupted } from '../../src/errors/errors.ts'
import type { Outcome } from '../../src/mirror-organization.ts'
import { pauseOf } from '../../src/pause.ts'
import { idleMs, monotonicMs } from '../../src/machine/monotonic-clock.ts'
import type { Talk } from '../../src/run-organization.ts'
import { endElsewhere } from '../run/await-other-worker.ts'
import { failedWith } from '../run/failed-with.ts'
import { AwaitedRuns } from './awaited-runs.ts'
import { pausedError } from '../pauses/paused-error.ts'
import { openEngine, type Engine, type EngineOptions } from '../worker-parts.ts'
import { openLiveConfig } from '../configuration/live-config.ts'
import { queueUnavailable } from '../queue/queue-refusal.ts'
import { watchQueue } from '../queue/queue-watch.ts'
import { writeOnly } from '../schedule/reconcile.ts'
import { TIMINGS } from '../timings.ts'

/** A worker that makes only requested runs. */
export type OnceWorker = {
  config: Config
  /** Puts a job into the queue, and returns its run after the job has ended. */
  run(organization: string, talk: Talk): Promise<Outcome>
  close(): Promise<void>
}

/** Opens the queue, writes the schedules into it, and starts taking jobs. */
export async function openOnce(
  options: { config?: string | undefined; embedded: boolean },
  { signal, onMirrorAway }: Pick<EngineOptions, 'onMirrorAway'> & { signal: AbortSignal },
): Promise<OnceWorker> {
  const config = await openLiveConfig({ file: options.config, cwd: process.cwd() }, Date.now)
  const runs = new AwaitedRuns(Date.now)
  const engine = await openEngine(config, {
    embedded: options.embedded,
    isPassing: true,
    now: Date.now,
    monotonicMs,
    idleMs,
    timings: TIMINGS,
    log: SILENT,
    signal,
    onMirrorAway,
    listenerFor: () => runs.listener(),
  })
  const stop = stopper(engine, runs)
  const stoppedEarly = Promise.withResolvers<never>()
  stoppedEarly.promise.catch(() => {})
  const stopAsAsked = () => {
    stoppedEarly.reject(new Interrupted('Stopped as asked, before anything was put into the queue.'))
    void stop()
  }
  if (signal.aborted) stopAsAsked()
  signal.addEventListener('abort', stopAsAsked, { once: true })
  try {
    // A queue that connects and then stalls must not keep the command from stopping.
    await Promise.race([writeSchedules(engine), stoppedEarly.promise])
    engine.syncWorker.run().catch(() => {})
    const run = (organization: string, talk: Talk) => runOnce({ engine, runs, signal }, organization, talk)
    return { config: config.current, run, close: stop }
  } catch (error) {
    await stop()
    throw queueUnavailable(error, engine.backend.place)
  }
}

/** A person at a terminal reads no log. */
const SILENT = { info: () => {}, warn: () => {} }

/** The schedules of another configuration are left to the workers that have it. */
async function writeSchedules({ followed, queues }: Engine): Promise<void> {
  await followed.look()
  const { organizations } = followed.live.current
  if (followed.accepted.mayWrite) await writeOnly(queues.tick, organizations, Date.now())
}

/** Watches the queue from now on; returns a function that ends everything, once. */
function stopper(engine: Engine, runs: AwaitedRuns): () => Promise<void> {
  const { backend, queues, syncWorker, quickWorker } = engine
  // It takes no job here. BullMQ prints an error that nothing listens for, with all that is in it.
  quickWorker.on('error', () => {})
  // A queue that refuses writes starts no job: runs that this process has begun continue, the others are given up.
  const endWaiting = (refusal: unknown) => {
    const failed = queueUnavailable(refusal, backend.place)
    runs.endAll((organization) => failedWith(organization, failed, Date.now()), { notBegun: true })
  }
  // A person at a terminal sees that work has stopped; the connection is retried by itself.
  const watch = watchQueue({
    queues: queues.all,
    workers: [syncWorker],
    ping: backend.ping,
    write: backend.write,
    log: SILENT,
    timings: TIMINGS,
    random: Math.random,
    monotonicMs,
    onBack: () => {},
    onRefused: endWaiting,
  })
  syncWorker.on('active', ({ data }) => runs.began(data.organization))
  let stopped: Promise<void> | undefined
  return () => {
    watch.stop()
    // Jobs that wait in the queue, or could not be finished, stay there for the next worker.
    return (stopped ??= engine
      .stop([])
      .then(() => runs.endAll((organization) => endedByStop(organization, 'Its job stays in the queue.'))))
  }
}

type Once = { engine: Engine; runs: AwaitedRuns; signal: AbortSignal }

async function runOnce(once: Once, organization: string, talk: Talk): Promise<Outcome> {
  const { engine, runs, signal } = once
  // Active runs still report their progress.
  if (signal.aborted) return endedByStop(organization, 'It had not begun.')
  const next = runs.next(organization, talk)
  const ended = new AbortController()
  try {
    return await Promise.race([next, requestAndWatch(once, organization, ended.signal)])
  } catch (error) {
    // The stop closes the queue, which fails open requests; the outcomes follow later.
    if (signal.aborted) return await next
    return failedWith(organization, queueUnavailable(error, engine.backend.place), Date.now())
  } finally {
    ended.abort()
    runs.forget(organization)
  }
}

async function requestAndWatch(
  { engine, runs, signal }: Once,
  organization: string,
  ended: AbortSignal,
): Promise<Outcome> {
  const { mirror, queues, pauses } = engine
  const paused = pauseOf(await pauses.latest(), organization, Date.now())
  if (paused !== undefined) throw pausedError(organization, paused.untilMs)
  const [before] = await mirror.listRuns({ organization, limit: 1 })
  // No retries over hours: the command that waits for the end reports the failure.
  if (!signal.aborted) await queues.requestSync(organization, 'sync', { attempts: 1 })
  const hasJob = async (id: string) => (await queues.sync.getDeduplicationJobId(id)) !== null
  const watching = { hasJob, mirror, isActiveHere: (id: string) => runs.isActive(id), now: Date.now }
  return await endElsewhere(watching, { organization, lastRunBefore: before?.runId ?? 0 }, ended)
}

function endedByStop(organization: string, what: string): Outcome {
  const error = new Interrupted(`${organization}: stopped as asked. ${what}`)
  const { report } = failedWith(organization, error, Date.now())
  return { report: { ...report, status: 'interrupted' }, error }
}
