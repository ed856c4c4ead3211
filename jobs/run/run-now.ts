import type { Config } from '../../src/config/read-config.ts'
import { QueueUnavailable, UsageError } from '../../src/errors.ts'
import { openBackend } from '../queue/backend.ts'
import { within } from '../queue/deadline.ts'
import { queueUnavailable } from '../queue/queue-refusal.ts'
import { jobStateOf, openQueues, type Queues, type Requested } from '../queue/queues.ts'

/** How long to wait for a queue that has just answered. */
const ADD_MS = 3000

/**
 * Requests a run of each of these organizations, or a quick run. A job that waits for its moment of the schedule starts at once. No
 * quick run is added to a full one: its state is then `full-run`.
 */
export async function requestRuns(
  config: Pick<Config, 'mirror' | 'queue'>,
  organizations: readonly string[],
  { quick = false }: { quick?: boolean } = {},
): Promise<({ organization: string } & Requested)[]> {
  if (config.queue === undefined || config.queue === 'embedded') throw new UsageError(NO_SHARED_QUEUE)
  const backend = await openBackend(config.queue, { mirrorFile: config.mirror })
  const queues = openQueues(backend)
  for (const queue of queues.all) queue.on('error', () => {})
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
      answers.push({ organization, ...(await (quick ? requestQuick(organization) : requestFull(organization))) })
    }
    return answers
  }

  async function requestFull(organization: string): Promise<Requested> {
    const requested = await queues.requestSync(organization, 'manual')
    return requested.added
      ? requested
      : { ...requested, state: await hasten(queues.sync, organization, requested.state) }
  }

  async function requestQuick(organization: string): Promise<Requested> {
    if ((await jobStateOf(queues.sync, organization)) !== undefined) return { added: false, state: 'full-run' }
    const requested = await queues.requestQuick(organization, 'manual')
    return requested.added
      ? requested
      : { ...requested, state: await hasten(queues.quick, organization, requested.state) }
  }

  /** Starts a delayed job at once, unless it was started before: then it waits for the service. */
  async function hasten(queue: Queues['sync'], organization: string, state: string): Promise<string> {
    const jobId = state === 'delayed' ? await queue.getDeduplicationJobId(organization) : null
    const job = jobId === null ? undefined : await queue.getJob(jobId)
    if (job === undefined || job.attemptsStarted > 0) return state
    await job.promote()
    return 'waiting'
  }
}

const NO_SHARED_QUEUE =
  'There is no queue to put a job into: an embedded queue is open only in its worker. Name a redis:// or postgres:// ' +
  'address as queue in the configuration, or run `customer-mirror sync` instead.'
