import { setTimeout as sleep } from 'node:timers/promises'
import type { Organization } from '../src/config/organization.ts'
import { describeError, Interrupted } from '../src/errors.ts'
import type { Outcome, Progress } from '../src/mirror-organization.ts'
import { emptyReport } from '../src/report.ts'
import type { SourceEvent } from '../src/source/customers.ts'
import { openEngine, type Engine } from './engine.ts'
import { openLiveConfig } from './live-config.ts'
import { writeOnly } from './schedule.ts'
import { TIMINGS } from './timings.ts'

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
  const engine = await openEngine(config, {
    embedded: options.embedded,
    timings: TIMINGS,
    listenerFor: () => ({
      onProgress: (progress) => awaited.get(progress.organization)?.talk.onProgress(progress),
      onEvent: (organization, event) => awaited.get(organization)?.talk.onEvent(event),
      onRun: ({ organization, outcome, verdict, isLast }) => {
        if (isLast || verdict.kind === 'hand-back') awaited.get(organization)?.end(outcome)
        if (verdict.kind === 'wait') awaited.get(organization)?.talk.onEvent(waiting(verdict.waitMs))
      },
    }),
  })
  const { queues, syncWorker } = engine
  // Whoever waits at a terminal sees the work stand still; the connection is tried again by itself.
  syncWorker.on('error', () => {})
  for (const queue of [queues.sync, queues.tick]) queue.on('error', () => {})
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= engine.stop([]).then(endAll))
  signal.addEventListener('abort', () => void stop(), { once: true })
  try {
    const { organizations, mirror: mirrorFile } = config.current
    await writeOnly(queues.tick, organizations, Date.now())
    syncWorker.run().catch(() => {})
    return { organizations, mirrorFile, run, close: stop }
  } catch (error) {
    await stop()
    throw error
  }

  async function run(organization: string, talk: Talk): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    awaited.set(organization, { talk, end: resolve })
    // Tries are not repeated over hours: whoever waits for the end is told of the failure.
    if (signal.aborted) endAll()
    else await queues.requestSync(organization, 'sync', { attempts: 1 })
    const ended = new AbortController()
    try {
      return await Promise.race([promise, endElsewhere(engine, organization, ended.signal)])
    } finally {
      ended.abort()
      awaited.delete(organization)
    }
  }

  /** Jobs that wait in the queue, or could not be finished, stay there for the next worker. */
  function endAll(): void {
    for (const [organization, { end }] of awaited) {
      const error = new Interrupted(`${organization}: stopped as asked. Its job stays in the queue.`)
      const report = emptyReport({ organization, trigger: 'sync', startedAtMs: Date.now() })
      end({ report: { ...report, status: 'interrupted', error: describeError(error) }, error })
    }
  }
}

type Awaited = { talk: Talk; end: (outcome: Outcome) => void }

function waiting(waitMs: number): SourceEvent {
  return { kind: 'waiting', reason: 'rate-limited', waitMs, untilMs: Date.now() + waitMs }
}

const LOOK_MS = 500

/** Comes back when the job was ended by another worker of the same queue, with the run that the mirror then has. */
async function endElsewhere(
  { queues, mirror }: Pick<Engine, 'queues' | 'mirror'>,
  organization: string,
  signal: AbortSignal,
): Promise<Outcome> {
  for (;;) {
    await sleep(LOOK_MS, undefined, { signal })
    if ((await queues.sync.getDeduplicationJobId(organization)) !== null) continue
    const [report] = await mirror.listRuns({ organization, limit: 1 })
    const startedAtMs = Date.now()
    return {
      report: report ?? emptyReport({ organization, trigger: 'sync', startedAtMs }),
      error: report?.error === undefined ? undefined : new Error(report.error.message),
    }
  }
}
