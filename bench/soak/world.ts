import { mkdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { openBackend } from '../../jobs/queue/backend.ts'
import { openQueues } from '../../jobs/queue/queues.ts'
import { cancelRuns } from '../../jobs/commands/cancel-runs.ts'
import type { Kind } from './plan.ts'
import { startRedis, type RedisProcess } from './redis-process.ts'
import { HOOK, ORGANIZATIONS, startService, type SoakService } from './service.ts'
import { hasStarted, lifeOf, startLife, variablesOf, type Worker } from './worker-process.ts'

/** All that a soak plays with, in one folder. */
export type World = {
  folder: string
  logs: string
  config: string
  mirror: string
  queue: string
  service: SoakService
  redis: RedisProcess | undefined
  workers: readonly Worker[]
  /** What the configuration file holds, without the comment of an edit. */
  configText: string
  /** When a worker could not start: the file held a mistake, or the queue was away. Unix milliseconds. */
  troubles: { kind: Kind; fromMs: number; toMs: number }[]
  /** How often the queue was emptied. */
  forgotten: number
  now: () => number
}

const WORKERS = { redis: ['worker-1', 'worker-2', 'worker-3'], embedded: ['worker-1'] } as const

/** Starts the service and the queue, and writes the configuration. No worker runs yet. */
export async function createWorld(
  folder: string,
  { seed, queue }: { seed: string; queue: 'redis' | 'embedded' },
): Promise<World> {
  const [logs, config] = [join(folder, 'logs'), join(folder, 'customer-mirror.yaml')]
  for (const each of [logs, join(folder, 'data')]) mkdirSync(each, { mode: 0o700 })
  const now = Date.now
  const redis = queue === 'redis' ? await startRedis(join(folder, 'redis')) : undefined
  const service = await startService(seed, now)
  const address = redis?.url ?? queue
  const configText = stringify(configuration(address, service))
  await writeFile(config, configText, { mode: 0o600 })
  const workers = WORKERS[queue].map((name): Worker => ({ name, lives: [] }))
  const mirror = join(folder, 'data', 'customers.db')
  return {
    folder,
    logs,
    config,
    mirror,
    queue: address,
    service,
    redis,
    workers,
    configText,
    troubles: [],
    forgotten: 0,
    now,
  }
}

/** Every organization is due every minute, each at a second of its own, and so are quick runs. */
function configuration(queue: string, { origin, baseUrl }: SoakService): object {
  return {
    mirror: './data/customers.db',
    queue,
    schedule: SCHEDULE,
    notify: { url: origin + HOOK, secret: { env: 'HOOK_SECRET' } },
    organizations: ORGANIZATIONS.map(({ id, shares, isByName = false, pageSize = 100 }) => ({
      ...{ id, baseUrl, apiKey: { env: variablesOf(id).key }, secret: { env: variablesOf(id).secret }, pageSize },
      ...(shares !== undefined && { rateLimit: { shared: shares } }),
      ...(isByName && { schedule: { quick: 'never' } }),
    })),
  }
}

export const SCHEDULE = { cron: '* * * * *', timezone: 'UTC', spread: '40s', quick: '0-59 * * * *' }
export const SPREAD_MS = 40_000

export function startWorker({ logs, config, now }: World, worker: Worker): void {
  startLife(worker, { folder: logs, config, now })
}

/** Waits until a worker takes jobs for the first time. Throws, with the name of its log, where none does. */
export async function startWorkers(world: World, signal: AbortSignal): Promise<void> {
  for (const worker of world.workers) startWorker(world, worker)
  for (let looks = 0; !isWell(world); looks += 1) {
    if (looks * LOOK_MS > MOST_START_MS || signal.aborted) throw new Error(`No worker started: see ${world.logs}`)
    await sleep(LOOK_MS)
  }
}

const LOOK_MS = 100
const MOST_START_MS = 120_000

export function isWell({ workers, redis, service }: World): boolean {
  const isWorking = workers.some((worker) => {
    const life = lifeOf(worker)
    return life !== undefined && !life.isFrozen && hasStarted(life)
  })
  return isWorking && redis?.isUp() !== false && !service.fails
}

/** Has a run end after its page, as a person does. */
export async function cancelRun({ queue, mirror, now }: World, organization: string): Promise<void> {
  const waiting = { now, monotonicMs: () => performance.now(), longestMs: 2000, signal: new AbortController().signal }
  await cancelRuns({ file: mirror, queue, mirror }, [organization], waiting)
}

/** Puts a request for a run of each organization into the queue. Only one process can open the embedded queue at a time. */
export async function requestRuns(
  { queue, mirror }: World,
  organizations: readonly string[],
  kind: 'full' | 'quick' = 'full',
): Promise<void> {
  const backend = await openBackend(queue, { folder: dirname(mirror) })
  const queues = openQueues(backend)
  for (const each of queues.all) each.on('error', () => {})
  try {
    for (const organization of organizations)
      await (kind === 'full' ? queues.requestSync : queues.requestQuick)(organization, 'manual')
  } finally {
    await queues.close().catch(() => {})
    await backend.close()
  }
}
