import type { Organization } from '../../src/config/organization.ts'
import { Interrupted } from '../../src/errors.ts'
import type { Outcome, Progress } from '../../src/mirror-organization.ts'
import { monotonicMs } from '../../src/monotonic-clock.ts'
import type { SourceEvent } from '../../src/source/customers.ts'
import { endElsewhere, failedWith } from './await-other-worker.ts'
import { openEngine } from '../worker-parts.ts'
import { openLiveConfig } from '../live-config.ts'
import { queueUnavailable } from '../queue/queue-refusal.ts'
import { watchQueue } from '../queue/queue-watch.ts'
import { writeOnly } from '../schedule/reconcile.ts'
import { TIMINGS } from '../timings.ts'

/** How a run tells how it is getting on. */
export type Talk = { onProgress: (progress: Progress) => void; onEvent: (event: SourceEvent) => void }

/** A worker that runs what it is asked for, and nothing on its own. */
export type OnceWorker = {
  organizations: readonly Organization[]
  mirrorFile: string
  /** Puts a job into the queue, and comes back with its run once the job has ended. */
  run(organization: string, talk: Talk): Promise<Outcome>
  close(): Promise<void>
}

/** Opens the queue, writes the schedules into it, and starts taking jobs. */
export async function openOnce(
  options: { config?: string | undefined; embedded: boolean },
  { signal }: { signal: AbortSignal },
): Promise<OnceWorker> {
  const config = await openLiveConfig({ file: options.config, cwd: process.cwd() }, Date.now)
  const awaited = new Map<string, Awaited>()
  /** Organizations that this process is mirroring now. */
  const active = new Set<string>()
  const engine = await openEngine(config, {
    embedded: options.embedded,
    now: Date.now,
    monotonicMs,
    timings: TIMINGS,
    listenerFor: () => ({
      onProgress: (progress) => awaited.get(progress.organization)?.talk.onProgress(progress),
      onEvent: (organization, event) => awaited.get(organization)?.talk.onEvent(event),
      onRun: ({ organization, outcome, verdict, isLast }) => {
        active.delete(organization)
        if (isLast || verdict.kind === 'hand-back') awaited.get(organization)?.end(outcome)
        if (verdict.kind === 'wait') awaited.get(organization)?.talk.onEvent(waiting(verdict.waitMs))
      },
    }),
  })
  const { queues, syncWorker } = engine
  // Someone at a terminal sees the work stand still; the connection is tried again by itself.
  const watch = watchQueue({
    queues: [queues.sync, queues.tick],
    workers: [syncWorker],
    ping: engine.backend.ping,
    write: engine.backend.write,
    log: { info: () => {}, warn: () => {} },
    timings: TIMINGS,
    random: Math.random,
    monotonicMs,
    onBack: () => {},
    onRefused: endWaiting,
  })
  syncWorker.on('active', ({ data }) => active.add(data.organization))
  let stopped: Promise<void> | undefined
  const stop = () => {
    watch.stop()
    return (stopped ??= engine.stop([]).then(endAll))
  }
  const asked = Promise.withResolvers<never>()
  asked.promise.catch(() => {})
  const stopAsAsked = () => {
    asked.reject(new Interrupted('Stopped as asked, before anything was put into the queue.'))
    void stop()
  }
  if (signal.aborted) stopAsAsked()
  signal.addEventListener('abort', stopAsAsked, { once: true })
  try {
    const { organizations, mirror: mirrorFile } = config.current
    // A queue that connects and then stalls must not keep the command from stopping.
    await Promise.race([writeOnly(queues.tick, organizations, Date.now()), asked.promise])
    syncWorker.run().catch(() => {})
    return { organizations, mirrorFile, run, close: stop }
  } catch (error) {
    await stop()
    throw queueUnavailable(error, engine.backend.place)
  }

  async function run(organization: string, talk: Talk): Promise<Outcome> {
    // Those under way are still to say how far they came.
    if (signal.aborted) return endedByStop(organization, 'It had not begun.')
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    awaited.set(organization, { talk, end: resolve })
    const ended = new AbortController()
    try {
      return await Promise.race([promise, requestAndWatch(organization, ended.signal)])
    } catch (error) {
      // The stop itself closes the queue under whoever asks it something; its own last word is still to come.
      if (signal.aborted) return await promise
      return failedWith(organization, queueUnavailable(error, engine.backend.place), Date.now())
    } finally {
      ended.abort()
      awaited.delete(organization)
    }
  }

  async function requestAndWatch(organization: string, ended: AbortSignal): Promise<Outcome> {
    const [before] = await engine.mirror.listRuns({ organization, limit: 1 })
    // Tries are not repeated over hours: whoever waits for the end is told of the failure.
    if (!signal.aborted) await queues.requestSync(organization, 'sync', { attempts: 1 })
    const hasJob = async (id: string) => (await queues.sync.getDeduplicationJobId(id)) !== null
    const watching = { hasJob, mirror: engine.mirror, isActiveHere: (id: string) => active.has(id), now: Date.now }
    return endElsewhere(watching, { organization, lastRunBefore: before?.runId ?? 0 }, ended)
  }

  /** A queue that refuses gives out no job: those of this process that have begun go on, the others are not waited for. */
  function endWaiting(refusal: unknown): void {
    for (const [organization, { end }] of awaited) {
      if (active.has(organization)) continue
      end(failedWith(organization, queueUnavailable(refusal, engine.backend.place), Date.now()))
    }
  }

  /** Jobs that wait in the queue, or could not be finished, stay there for the next worker. */
  function endAll(): void {
    for (const [organization, { end }] of awaited) end(endedByStop(organization, 'Its job stays in the queue.'))
  }
}

function endedByStop(organization: string, what: string): Outcome {
  const error = new Interrupted(`${organization}: stopped as asked. ${what}`)
  const { report } = failedWith(organization, error, Date.now())
  return { report: { ...report, status: 'interrupted' }, error }
}

type Awaited = { talk: Talk; end: (outcome: Outcome) => void }

function waiting(waitMs: number): SourceEvent {
  return { kind: 'waiting', reason: 'rate-limited', waitMs, untilMs: Date.now() + waitMs }
}
