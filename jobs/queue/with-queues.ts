import { join } from 'node:path'
import { folderBeside, isSharedQueue } from '../../src/address/mirror-address.ts'
import type { Config } from '../../src/config/read-config.ts'
import { describeError, factsOf, QueueUnavailable, UsageError } from '../../src/errors/errors.ts'
import { isMissing } from '../../src/machine/folders.ts'
import { openBackend } from './backend.ts'
import type { Backend } from './port.ts'
import { within } from './deadline.ts'
import { queueUnavailable } from './queue-faults.ts'
import { openQueues, type Queues } from './queues.ts'

/** What says where the queue is: an embedded one is beside the mirror. */
export type QueueConfig = Pick<Config, 'file' | 'mirror' | 'queue'>

/** The queue that workers use, opened by a command. */
export type OpenedQueue = { backend: Backend; queues: Queues }

/** How long to wait for a queue that has just answered. */
const ANSWER_MS = 3000

/**
 * Opens the queue of the configuration for a command, and closes it after `work`. Throws UsageError with `noSharedQueue` where
 * no other process can reach it, and QueueUnavailable where it fails.
 */
export async function withQueues<Result>(
  config: QueueConfig,
  noSharedQueue: string,
  work: (opened: OpenedQueue) => Promise<Result>,
): Promise<Result> {
  if (!isSharedQueue(config.queue)) throw new UsageError(noSharedQueue)
  return workIn(await openBackend(config.queue, { folder: folderBeside(config) }), work)
}

/**
 * Opens the queue of the configuration for a command, also an embedded one whose worker is stopped, and closes it after `work`. Throws
 * UsageError where there is none, and QueueUnavailable where it fails or a worker has it.
 */
export async function withAnyQueue<Result>(
  config: QueueConfig,
  work: (opened: OpenedQueue) => Promise<Result>,
): Promise<Result> {
  const { queue } = config
  const folder = folderBeside(config)
  if (isSharedQueue(queue)) return withQueues(config, NO_QUEUE, work)
  if (queue === undefined && isMissing(join(folder, 'queue'))) throw new UsageError(NO_QUEUE)
  const backend = await openBackend('embedded', { folder }).catch((error: unknown) => {
    throw factsOf(error).from === 'queue'
      ? new QueueUnavailable(`${describeError(error).message} ${STOP_FIRST}`)
      : error
  })
  return workIn(backend, work)
}

const NO_QUEUE =
  'There is no queue: the configuration names none, and no worker has kept one beside the mirror. Add ' +
  '`queue: redis://127.0.0.1:6379` to the configuration, or set CUSTOMER_MIRROR_QUEUE.'

const STOP_FIRST =
  'To do it here: stop the worker (Ctrl-C or SIGTERM), enter this command again, then start the worker. What the queue holds is kept.'

/** Opens the queues of a backend, and closes both after `work`. */
export async function workIn<Result>(
  backend: Backend,
  work: (opened: OpenedQueue) => Promise<Result>,
): Promise<Result> {
  const queues = openQueues(backend)
  for (const queue of queues.all) queue.on('error', () => {})
  try {
    return await work({ backend, queues })
  } catch (error) {
    throw queueUnavailable(error, backend.place)
  } finally {
    await within(queues.close(), ANSWER_MS, undefined).catch(() => {})
    await within(backend.close(), ANSWER_MS, undefined).catch(() => {})
  }
}

/** The answer of the queue. Throws QueueUnavailable when it takes too long. */
export async function answerOf<Answer>({ place }: Pick<Backend, 'place'>, asked: Promise<Answer>): Promise<Answer> {
  const answer = await within(asked, ANSWER_MS, LATE)
  if (answer === LATE) throw new QueueUnavailable(`The queue at ${place} stopped answering. Try again.`)
  return answer
}

const LATE = Symbol('late')
