import { join } from 'node:path'
import { folderBeside, isSharedQueue } from '../../src/config/places.ts'
import { isMissing } from '../../src/machine/is-missing.ts'
import { describeError, factsOf, QueueUnavailable, UsageError } from '../../src/errors/errors.ts'
import { openBackend } from './backend.ts'
import { withQueues, workIn, type OpenedQueue, type QueueConfig } from './with-queues.ts'

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
