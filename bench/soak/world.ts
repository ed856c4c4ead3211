import { mkdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { z } from 'zod'
import { readArguments } from '../arguments.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { type RedisServer, startRedis } from '../redis-server.ts'
import type { Kind } from './plan.ts'
import { HOOK, organizationsOf, type Played, type SoakService, startService } from './service.ts'
import { hasStarted, lifeOf, startLife, variablesOf, type Worker } from './worker-process.ts'
import { cancelRuns } from '../../jobs/cancel.ts'
import { openBackend } from '../../jobs/queue/backend.ts'
import { openQueues } from '../../jobs/queue/queues.ts'
import { UsageError } from '../../src/errors/errors.ts'

/** All that a soak plays with, in one folder. */
export type World = {
  folder: string
  logs: string
  /** The path of the SQLite file, or the address in PostgreSQL. */
  mirror: string
  organizations: readonly Played[]
  schedule: ReturnType<typeof scheduleOf>
  queue: string
  service: SoakService
  redis: RedisServer | undefined
  postgres: PostgresServer | undefined
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

/** Starts the service, the queue and the server of the mirror, and writes the configuration. No worker runs yet. */
export async function createWorld(
  folder: string,
  asked: Pick<SoakOptions, 'seed' | 'queue' | 'mirror' | 'organizations'>,
): Promise<World> {
  const logs = join(folder, 'logs')
  for (const each of [logs, join(folder, 'data')]) mkdirSync(each, { mode: 0o700 })
  const now = Date.now
  const organizations = organizationsOf(asked.organizations)
  const redis =
    asked.queue === 'redis' ? await startRedis({ folder: join(folder, 'redis'), appendOnly: true }) : undefined
  const postgres = asked.mirror === 'postgres' ? await startPostgres() : undefined
  const service = await startService(organizations, asked.seed, now)
  const queue = redis?.url ?? asked.queue
  const mirror = postgres?.url ?? join(folder, 'data', 'customers.db')
  const schedule = scheduleOf(organizations)
  const configText = stringify(configuration({ mirror, queue, schedule, organizations, service }))
  const workers = WORKERS[asked.queue].map((name): Worker => {
    // One file can only be mirrored by workers beside it; those of a server have nothing in common.
    const own = postgres === undefined ? folder : join(folder, name)
    mkdirSync(own, { recursive: true, mode: 0o700 })
    return { name, config: join(own, 'customer-mirror.yaml'), lives: [] }
  })
  const world = { folder, logs, mirror, organizations, schedule, queue, service, redis, postgres, workers, configText }
  await writeConfiguration(world, '')
  return { ...world, troubles: [], forgotten: 0, now }
}

/** Writes the file of every worker, with `heading` before what it holds. */
export async function writeConfiguration(
  { workers, configText }: Pick<World, 'workers' | 'configText'>,
  heading: string,
): Promise<void> {
  const files = new Set(workers.map(({ config }) => config))
  await Promise.all([...files].map((file) => writeFile(file, heading + configText, { mode: 0o600 })))
}

function configuration({
  mirror,
  queue,
  schedule,
  organizations,
  service: { origin, baseUrl },
}: Pick<World, 'mirror' | 'queue' | 'schedule' | 'organizations' | 'service'>): object {
  return {
    ...{ mirror, queue, schedule },
    notify: { url: origin + HOOK, secret: { env: 'HOOK_SECRET' } },
    organizations: organizations.map(({ id, shares, isByName = false, pageSize = 100 }) => ({
      ...{ id, baseUrl, apiKey: { env: variablesOf(id).key }, secret: { env: variablesOf(id).secret }, pageSize },
      ...(shares !== undefined && { rateLimit: { shared: shares } }),
      ...(isByName && { schedule: { quick: 'never' } }),
    })),
  }
}

/** Few organizations are due every minute, each at a second of its own, and so are quick runs; many of them less often. */
function scheduleOf(organizations: readonly Played[]) {
  const minutes = Math.ceil(organizations.length / MOST_A_MINUTE)
  return { cron: `*/${minutes} * * * *`, timezone: 'UTC', spread: '40s', quick: `0-59/${minutes} * * * *` }
}

const MOST_A_MINUTE = 20
export const SPREAD_MS = 40_000

export function startWorker({ logs, organizations, now }: World, worker: Worker): void {
  startLife(worker, { folder: logs, organizations, now })
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

export function isWell({ workers, redis, postgres, service }: World): boolean {
  const isWorking = workers.some((worker) => {
    const life = lifeOf(worker)
    return life !== undefined && !life.isFrozen && hasStarted(life)
  })
  return isWorking && redis?.isUp() !== false && postgres?.isUp() !== false && !service.fails
}

/** Has a run end after its page, as a person does. */
export async function cancelRun({ queue, mirror, workers, now }: World, organization: string): Promise<void> {
  const waiting = { now, monotonicMs: () => performance.now(), longestMs: 2000, signal: new AbortController().signal }
  await cancelRuns({ file: workers[0]?.config ?? '', queue, mirror }, [organization], waiting)
}

/** Puts a request for a run of each organization into the queue. Only one process can open the embedded queue at a time. */
export async function requestRuns(
  { queue, mirror }: World,
  organizations: readonly string[],
  kind: 'full' | 'quick' = 'full',
): Promise<void> {
  const backend = await openBackend(queue, { folder: dirname(mirror), commandMs: 3000 })
  const queues = openQueues(backend)
  for (const each of queues.all) each.on('error', () => {})
  try {
    for (const organization of organizations)
      await queues.request(kind === 'full' ? 'sync' : 'quick', organization, 'manual')
    await queues.close()
  } finally {
    // However long it takes: a worker that is started next opens the embedded queue.
    await backend.close()
  }
}

/** Reads the command line. Throws a UsageError for what makes no sense. */
export function readOptions(args: readonly string[], freshSeed: () => string): SoakOptions {
  const options = readArguments(args, { options: OPTIONS, shape, usage: SOAK_HELP })
  if (options.mirror === 'postgres' && options.queue !== 'redis')
    throw new UsageError(`--mirror postgres needs --queue redis: it is for several workers.\n\n${SOAK_HELP}`)
  return { ...options, seed: options.seed ?? freshSeed() }
}

const OPTIONS = {
  minutes: { type: 'string', default: '10' },
  seed: { type: 'string' },
  queue: { type: 'string', default: 'redis' },
  mirror: { type: 'string', default: 'sqlite' },
  organizations: { type: 'string' },
  keep: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const [LEAST_MINUTES, MOST_MINUTES] = [0.2, 1440]
const [LEAST_PLAYED, MOST_PLAYED] = [6, 200]

/** `seed` decides every random choice. Events, changes and faults end after `minutes`; then the mirrors come to rest. */
const shape = z.object({
  minutes: z.coerce.number().min(LEAST_MINUTES).max(MOST_MINUTES),
  seed: z.string().optional(),
  queue: z.enum(['redis', 'embedded']),
  mirror: z.enum(['sqlite', 'postgres']),
  /** How many; undefined: those that are always played. */
  organizations: z.coerce.number().int().min(LEAST_PLAYED).max(MOST_PLAYED).optional(),
  keep: z.boolean(),
  help: z.boolean(),
})
export type SoakOptions = z.output<typeof shape> & { seed: string }

export const SOAK_HELP = `npm run soak -- [options]

Kills, freezes and restarts workers and their queue at random, with a service that changes and fails meanwhile. When all is at
rest again, it compares every mirror with its service. Ends with one line, and with 0 where all is right or 1.

  --minutes N        how long, from ${LEAST_MINUTES} to ${MOST_MINUTES}; 10. It ends later where the last readings take longer
  --seed TEXT        what every random choice follows from; a fresh one, which is printed
  --queue KIND       redis: three workers and a redis-server of its own; embedded: one worker with its own queue
  --mirror KIND      sqlite: one file for all workers; postgres: a server of its own, which is killed too, and workers with folders
                     of their own
  --organizations N  how many, from ${LEAST_PLAYED} to ${MOST_PLAYED}; ${LEAST_PLAYED}
  --keep             keep the mirror, the logs and the queue also where all is right
`
