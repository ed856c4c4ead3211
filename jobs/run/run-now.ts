import type { Config } from '../../src/config/read-config.ts'
import { QueueUnavailable, UsageError } from '../../src/errors.ts'
import { openBackend } from '../queue/backend.ts'
import { within } from '../queue/deadline.ts'
import { queueUnavailable } from '../queue/queue-refusal.ts'
import { openQueues, type Requested } from '../queue/queues.ts'

/** How long to wait for a queue that has just answered. */
const ADD_MS = 3000

/** Requests a run of each of these organizations. A job that waits for its moment of the schedule starts at once. */
export async function requestRuns(
  config: Pick<Config, 'mirror' | 'queue'>,
  organizations: readonly string[],
): Promise<({ organization: string } & Requested)[]> {
  if (config.queue === undefined || config.queue === 'embedded') throw new UsageError(NO_SHARED_QUEUE)
  const backend = await openBackend(config.queue, { mirrorFile: config.mirror })
  const queues = openQueues(backend)
  for (const queue of [queues.tick, queues.sync]) queue.on('error', () => {})
  try {
    const requested = await within(requestAll(), ADD_MS, undefined)
    if (requested === undefined)
      throw new QueueUnavailable(`The queue at ${backend.place} stopped answering. Try again.`)
    return requested
  } catch (error) {
    throw queueUnavailable(error, backend.place)
  } finally {
    await within(queues.close(), ADD_MS, undefined).catch(() => {})
    await backend.close()
  }

  async function requestAll(): Promise<({ organization: string } & Requested)[]> {
    const answers = []
    for (const organization of organizations) {
      const requested = await queues.requestSync(organization, 'manual')
      const state = requested.added ? requested.state : await hasten(organization, requested.state)
      answers.push({ organization, ...requested, state })
    }
    return answers
  }

  /** Starts a delayed job at once, unless it was started before: then it waits for the service. */
  async function hasten(organization: string, state: string): Promise<string> {
    const jobId = state === 'delayed' ? await queues.sync.getDeduplicationJobId(organization) : null
    const job = jobId === null ? undefined : await queues.sync.getJob(jobId)
    if (job === undefined || job.attemptsStarted > 0) return state
    await job.promote()
    return 'waiting'
  }
}

const NO_SHARED_QUEUE =
  'There is no queue to put a job into: an embedded queue is open only in its worker. Name a redis:// or postgres:// ' +
  'address as queue in the configuration, or run `customer-mirror sync` instead.'
