import { once } from 'node:events'
import { boardToken } from '../src/config/board-token.ts'
import { createLog } from '../src/log.ts'
import { monotonicMs } from '../src/monotonic-clock.ts'
import { createBoard } from './monitoring/board.ts'
import { openEngine, type Engine } from './worker-parts.ts'
import { examine } from './monitoring/health.ts'
import { BOARD_PATH, serveHttp, type Watched } from './monitoring/http.ts'
import { openLiveConfig } from './live-config.ts'
import { createMetrics, type Metrics } from './monitoring/metrics.ts'
import { codeAndReason } from './queue/queue-refusal.ts'
import { watchQueue } from './queue/queue-watch.ts'
import { createReconciler } from './schedule/reconciler.ts'
import { logRun } from './monitoring/run-log.ts'
import { compareSchedules } from './schedule/reconcile.ts'
import { startTickWorker, type TickWorker } from './schedule/tick-worker.ts'
import { TIMINGS, type Timings } from './timings.ts'
import { createWriteProbe } from './queue/write-probe.ts'

export type WorkerOptions = {
  config?: string | undefined
  embedded: boolean
  /** Where monitors may ask. */
  http: { host: string; port: number }
  logLevel: string
  timings?: Partial<Timings> | undefined
}

/** Mirrors every organization on its schedule until `signal` is aborted; then stops within ten seconds. */
export async function runWorker(
  options: WorkerOptions,
  { signal, stderr }: { signal: AbortSignal; stderr: NodeJS.WritableStream },
): Promise<void> {
  const timings = { ...TIMINGS, ...options.timings }
  const token = boardToken()
  const log = createLog({ level: options.logLevel, stream: stderr })
  const config = await openLiveConfig({ file: options.config, cwd: process.cwd() }, Date.now)
  let metrics: Metrics | undefined
  const engine = await openEngine(config, {
    embedded: options.embedded,
    now: Date.now,
    monotonicMs,
    onSetBack: (jobs) => log.warn({ jobs }, 'clock set back, waits begin anew'),
    timings,
    listenerFor: (parts) => {
      const counted = (metrics = createMetrics({
        ...parts,
        organizations: () => config.current.organizations.map(({ id }) => id),
        now: Date.now,
      }))
      return {
        onEvent: (organization, event) => log.info({ organization, event }, 'run slowed down'),
        onAnswer: (organization, answer) => counted.countAnswer(organization, answer),
        onRun: (run) => {
          counted.countRun(run)
          const held = parts.mirror.listHeldRemovals().catch(() => undefined)
          void held.then((open) => logRun(log, run, open))
        },
      }
    },
  })
  const { backend, queues, syncWorker } = engine
  const tickWorker = startTickWorker(backend, { ...engine, organizationOf: config.organizationOf, now: Date.now })
  const reconcile = createReconciler(engine, Date.now, log)
  const watch = watchQueue({
    queues: [queues.tick, queues.sync],
    workers: [syncWorker, tickWorker],
    ping: backend.ping,
    write: backend.write,
    ...{ log, timings, monotonicMs },
    random: Math.random,
    onBack: () => void reconcile({ atStart: false }),
  })
  // Where the queue has forgotten the job, what is still due is asked for again.
  syncWorker.on('lockRenewalFailed', () => void reconcile({ atStart: false }))
  syncWorker.on('stalled', (jobId) => log.warn({ jobId }, 'job taken over from a worker that fell silent'))
  const http = await serveHttp(watched(engine, tickWorker, { metrics, token }), options.http).catch(letGo)
  log.info({ http: http.origin }, 'worker starting')
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  // A queue that connects and then stalls must not keep the worker from stopping.
  await Promise.race([reconcile({ atStart: true }), stopped])
  if (!signal.aborted) {
    // One that failed and was resumed before this runs already.
    for (const worker of [syncWorker, tickWorker].filter((each) => !each.isRunning()))
      worker.run().catch((error: unknown) => log.error({ reason: codeAndReason(error) }, 'worker ended unexpectedly'))
    log.info(
      { queue: backend.kind, place: backend.place, http: http.origin, traced: backend.telemetry !== undefined },
      'worker started',
    )
  }

  const again = setInterval(() => void reconcile({ atStart: false }), timings.reconcileMs)
  await stopped
  log.info('worker stopping')
  clearInterval(again)
  watch.stop()
  const inOrder = await engine.stop([tickWorker])
  await http.close()
  log.info({ inOrder }, 'worker stopped')
  endSoon()

  async function letGo(error: unknown): Promise<never> {
    watch.stop()
    await engine.stop([tickWorker])
    endSoon()
    throw error
  }
}

/**
 * Ends the process shortly, unless it ends by itself before: timers of the queue that nothing can end must not keep it. The
 * exit code is set, and everything written, by whoever started it.
 */
export function endSoon(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref()
}

const LINGER_MS = 500

function watched(
  engine: Engine,
  tickWorker: TickWorker,
  { metrics, token }: { metrics: Metrics | undefined; token: string | undefined },
): Watched {
  const { backend, config, mirror, queues, syncWorker } = engine
  const write = createWriteProbe(backend.write, monotonicMs)
  return {
    metrics: () => metrics?.text() ?? Promise.resolve(''),
    board: token === undefined ? undefined : createBoard(queues, { path: BOARD_PATH, token }),
    examine: () =>
      examine({
        write,
        workers: [syncWorker, tickWorker],
        compareSchedules: () => compareSchedules(queues.tick, config.current.organizations, Date.now()),
        organizations: config.current.organizations,
        mirror,
        nowMs: Date.now(),
      }),
  }
}
