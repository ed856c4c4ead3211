import { setTimeout as sleep } from 'node:timers/promises'
import type { Organization } from '../src/config/organization.ts'
import {
  describeError,
  Interrupted,
  OrganizationHeld,
  QueueUnavailable,
  RateLimited,
  SourceRefused,
  SourceUnavailable,
  UsageError,
} from '../src/errors.ts'
import type { Outcome, Progress } from '../src/mirror-organization.ts'
import { emptyReport, type Report } from '../src/report.ts'
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
    const requestedAtMs = Date.now()
    // Tries are not repeated over hours: whoever waits for the end is told of the failure.
    if (signal.aborted) endAll()
    else await queues.requestSync(organization, 'sync', { attempts: 1 })
    const ended = new AbortController()
    try {
      return await Promise.race([promise, endElsewhere(engine, { organization, requestedAtMs }, ended.signal)])
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

/**
 * Comes back when the job was ended by another worker of the same queue, with the run that the mirror then has; while that
 * run is still under way, here or elsewhere, it is waited for, even if the queue has forgotten its job.
 */
async function endElsewhere(
  { queues, mirror }: Pick<Engine, 'queues' | 'mirror'>,
  { organization, requestedAtMs }: { organization: string; requestedAtMs: number },
  signal: AbortSignal,
): Promise<Outcome> {
  for (;;) {
    await sleep(LOOK_MS, undefined, { signal })
    if ((await queues.sync.getDeduplicationJobId(organization)) !== null) continue
    const [report] = await mirror.listRuns({ organization, limit: 1 })
    if (report?.status === 'running') continue
    if (report !== undefined && report.startedAtMs >= requestedAtMs) return { report, error: errorOf(report) }
    const error = new QueueUnavailable(
      `${organization}: the queue has lost its job before it was run. Ask for it again.`,
    )
    const lost = emptyReport({ organization, trigger: 'sync', startedAtMs: requestedAtMs })
    return { report: { ...lost, error: describeError(error) }, error }
  }
}

/** The error of a run made elsewhere, of the kind that the command ends as it would have ended itself. */
function errorOf({ error }: Report): unknown {
  if (error === undefined) return undefined
  const { code, message } = error
  const refusal = REFUSALS.find((known) => known.code === code)
  if (refusal !== undefined) return new SourceRefused(message, refusal)
  const outage = OUTAGES.find((known) => known === code)
  if (outage !== undefined) return new SourceUnavailable(message, { code: outage })
  if (code === 'rate-limited') return new RateLimited(message, {})
  if (code === 'held' || code === 'lease-lost') return new OrganizationHeld(message, { code })
  return code === 'config' || code.startsWith('mirror-') ? new UsageError(message) : new Error(message)
}

const REFUSALS = [
  { code: 'unauthorized', status: 401 },
  { code: 'forbidden', status: 403 },
  { code: 'not-found', status: 404 },
  { code: 'unprocessable', status: 422 },
] as const
const OUTAGES = ['network', 'tls', 'timeout', 'server-error'] as const
