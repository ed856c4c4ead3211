import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { oneAtATime, within } from '../../src/machine/timers.ts'
import { ANSWER_MS, type Backend, type Opening, type ServerStore, type SharedValues, valuesNamed } from './port.ts'
import { queueUnavailable } from './queue-faults.ts'
import type { Queues } from './queues.ts'
import { folderBeside, isPostgres, isSharedQueue, shownMirror } from '../../src/address/mirror-address.ts'
import type { Config } from '../../src/config/read-config.ts'
import { describeError, factsOf, QueueUnavailable, UsageError } from '../../src/errors/errors.ts'
import { isMissing } from '../../src/machine/folders.ts'
import { closing, ifThere, openMirrorToRead, type Mirror } from '../../src/store/mirror.ts'

/** Longer than a worker waits for a job in one command. */
const SILENCE_MS = 60_000
/** How long a command waits for an answer of a queue. */
const COMMAND_MS = 3000

/** Opens a queue and writes to it once, or throws QueueUnavailable: within three seconds if it is out of reach, within five if it refuses that. */
export async function openBackend(
  address: string,
  { folder, commandMs, onEnded }: { folder: string; commandMs?: number; onEnded?: (error: unknown) => void },
): Promise<Backend> {
  const isEmbedded = address === 'embedded'
  const place = isEmbedded ? join(folder, 'queue') : queuePlace(new URL(address))
  const prefix = isEmbedded ? DEFAULT_PREFIX : parseAddress(address).prefix
  let close = async () => {}
  try {
    const store = isEmbedded
      ? await (await import('./embedded.ts')).openEmbedded(place, prefix, onEnded)
      : await openServer(address, { answerMs: SILENCE_MS, commandMs })
    close = store.close
    const factory = await store.loadFactory()
    // A client keeps what it could not send until the queue is back: it is not given more.
    const write = oneAtATime(() => store.values.write('probe', 'written'))
    await within(write(), ANSWER_MS, undefined)
    const kind = isEmbedded ? 'embedded' : address.startsWith('redis') ? 'redis' : 'postgres'
    return { ...store, kind, place, prefix, factory, write }
  } catch (error) {
    await close()
    throw queueUnavailable(error, place)
  }
}

async function openServer(address: string, limits: Omit<Opening, 'prefix'>): Promise<ServerStore> {
  const { url, prefix } = parseAddress(address)
  const open = address.startsWith('redis')
    ? (await import('./redis.ts')).openRedis
    : (await import('./postgres.ts')).openPostgres
  return open(url.href, { ...limits, prefix })
}

/** The beginning of the names of our queues, where the address says none. */
const DEFAULT_PREFIX = 'customer-mirror'

/** Parses the address of a configuration with our `?prefix=name`, which separates several mirrors in one database. */
export function parseAddress(address: string): { url: URL; prefix: string } {
  const url = new URL(address)
  const prefix = url.searchParams.get('prefix') ?? DEFAULT_PREFIX
  url.searchParams.delete('prefix')
  return { url, prefix }
}

function queuePlace({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`
}

/** Asks a queue on a server for one thing, and writes nothing; undefined where that takes longer than `limitMs`. */
export async function askQueue<Result>(address: string, limitMs: number, ask: (store: ServerStore) => Promise<Result>) {
  const opened = openServer(address, { answerMs: limitMs, commandMs: limitMs })
  try {
    return await within(opened.then(ask), limitMs, undefined)
  } finally {
    void opened.then((store) => store.close()).catch(() => {})
  }
}

/** Asks a queue on a server whether a worker could use it, and creates nothing. Throws QueueUnavailable within two seconds. */
export async function probeQueue(address: string) {
  const place = queuePlace(new URL(address))
  try {
    const answered = await askQueue(address, ANSWER_MS, ({ ask }) => ask())
    if (answered === undefined) throw new Error(`no answer within ${ANSWER_MS / 1000} s`)
    return { place, ...answered }
  } catch (error) {
    throw queueUnavailable(error, place)
  }
}

/** What says where the queue is: an embedded one is beside the mirror. `noSharedQueue`: what to say where it has to be on a server, and is not. */
export type QueueConfig = Pick<Config, 'file' | 'mirror' | 'queue'> & { noSharedQueue?: string }

export type OpenedQueue = { backend: Backend; queues: Queues }

/**
 * Opens the queue for the `work` of a command; each question to it rejects after three seconds. Throws UsageError where there is none, or none on a
 * server where `noSharedQueue` is given, and QueueUnavailable where it fails or a worker has the embedded one.
 */
export async function withQueues<Result>(config: QueueConfig, work: (opened: OpenedQueue) => Promise<Result>) {
  const { queue, noSharedQueue } = config
  const folder = folderBeside(config)
  const isShared = isSharedQueue(queue)
  if (!isShared && noSharedQueue !== undefined) throw new UsageError(noSharedQueue)
  if (queue === undefined && isMissing(join(folder, 'queue'))) throw new UsageError(NO_QUEUE)
  const address = isShared ? queue : 'embedded'
  const backend = await openBackend(address, { folder, commandMs: COMMAND_MS }).catch((error: unknown) => {
    const isTaken = !isShared && factsOf(error).from === 'queue'
    throw isTaken ? new QueueUnavailable(`${describeError(error).message} ${STOP_FIRST}`) : error
  })
  const { openQueues } = await import('./queues.ts')
  const queues = openQueues(backend)
  for (const each of queues.all) each.on('error', () => {})
  try {
    return await work({ backend, queues })
  } catch (error) {
    throw queueUnavailable(error, backend.place)
  } finally {
    await within(queues.close(), COMMAND_MS, undefined).catch(() => {})
    await within(backend.close(), COMMAND_MS, undefined).catch(() => {})
  }
}

const NO_QUEUE =
  'There is no queue: the configuration names none, and no worker has kept one beside the mirror. Add ' +
  '`queue: redis://127.0.0.1:6379` to the configuration, or set CUSTOMER_MIRROR_QUEUE.'

const STOP_FIRST =
  'To do it here: stop the worker (Ctrl-C or SIGTERM), enter this command again, then start the worker. What the queue holds is kept.'

/** Two mirrors on one queue would each get some of the nights: one of another identity is refused, unless it was made anew at the same place. */
const NAME = 'mirror'
const form = z.object({ id: z.string(), place: z.string() })
const claims = valuesNamed('', form)
type Known = z.output<typeof form>

/** Puts the mirror of a worker into the queue. Returns the error of a queue that has another one. */
export async function claimQueue(values: SharedValues, mirror: Pick<Mirror, 'file' | 'identity'>) {
  const own = await known(mirror)
  if (await values.add(NAME, JSON.stringify(own))) return undefined
  const taken = await takenFrom(values, own, own.place)
  if (taken === undefined) await claims.write(values, NAME, own)
  return taken
}

/** Throws QueueUnavailable where the mirror at this address is there, and the queue has another one. */
export async function requireMirrorOfQueue(values: Pick<SharedValues, 'read'>, address: string): Promise<void> {
  // One that cannot be read is reported by what needs it.
  const mirror = await ifThere(openMirrorToRead(address)).catch(() => undefined)
  const taken = mirror && (await takenFrom(values, await closing(mirror, known)))
  if (taken !== undefined) throw taken
}

/** Lets the next worker that starts bring its mirror. */
export async function releaseQueue(config: QueueConfig): Promise<string | undefined> {
  return withQueues(config, async ({ backend: { values } }) => {
    const had = await claims.read(values, NAME)
    await values.delete(NAME)
    return had?.place
  })
}

async function known({ file, identity }: Pick<Mirror, 'file' | 'identity'>): Promise<Known> {
  const shown = shownMirror(file)
  return { id: await identity(), place: isPostgres(file) ? shown : `${hostname()}:${shown}` }
}

/** The error of a queue that has another mirror than this one, and not at the place `except`. */
async function takenFrom(values: Pick<SharedValues, 'read'>, own: Known, except?: string) {
  const other = await claims.read(values, NAME)
  if (other === undefined || other.id === own.id || other.place === except) return undefined
  return new QueueUnavailable(
    `This queue has the mirror ${other.place}, and the mirror here is ${own.place}: each would get some of the nights. Name that mirror, ` +
      "or give this one a queue of its own with ?prefix= at the end of its address. If that mirror is gone for good, run 'customer-mirror " +
      "queue --release' once, then start again.",
  )
}
