import { cpSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { withBackend, type IQueueBackend, type Job, type Processor } from 'bullmq'
import { inject, onTestFinished } from 'vitest'
import { openBackend } from '../../jobs/queue/backend.ts'
import { nameInDatabase, type Backend } from '../../jobs/queue/port.ts'
import { openQueues } from '../../jobs/queue/queues.ts'
import { whenMade } from './small-queue.ts'
import { aWorkplace, type Workplace, type Written } from './workplace.ts'

/** Once a year, half a year from now. A moment of leap years would take a busy worker half a second, every second, to find. */
export const FAR_AWAY = { cron: `30 3 1 ${((new Date().getUTCMonth() + 6) % 12) + 1} *`, timezone: 'UTC' }

/** Whether the tests run on the queue that lives in one process, to which others cannot add. */
export const isEmbedded = inject('queueAddress') === 'embedded'

/** A folder with a configuration whose queue no other test sees. */
export function aJobsWorkplace(
  organizations: readonly Written[],
  { queue = aQueue(), ...settings }: Parameters<typeof aWorkplace>[1] = {},
): Workplace & { queue: string } {
  const workplace = aWorkplace(organizations, { queue, schedule: FAR_AWAY, ...settings })
  if (queue === 'embedded') prepareQueue(join(workplace.mirror, '..', 'queue'))
  return { ...workplace, queue }
}

export function aQueue(address: string = inject('queueAddress')): string {
  return address === 'embedded' ? address : `${address}?prefix=test-${randomUUID()}`
}

export function prepareQueue(folder: string): void {
  cpSync(whenMade(inject('queueTemplate')), folder, { recursive: true })
}

/** The queues at an address, closed when the test ends. */
export async function someQueues(queue: string, mirrorFile: string) {
  const backend = await openBackend(queue, { folder: dirname(mirrorFile) })
  const queues = openQueues(backend)
  for (const each of queues.all) each.on('error', () => {})
  let closed: Promise<void> | undefined
  const close = () => (closed ??= queues.close().then(() => backend.close()))
  onTestFinished(close)
  return { backend, queues, close }
}

/** A worker of another process, which takes a job only by `getNextJob`. It is closed when the test ends. */
export function anotherWorker(backend: Backend, work?: Processor) {
  const { Worker } = withBackend<IQueueBackend, unknown>(backend.factory)
  const worker = new Worker(nameInDatabase(backend, 'sync'), work, { connection: {} })
  worker.on('error', () => {})
  onTestFinished(() => worker.close())
  return worker
}

/** Takes the next job of the full runs as a worker does, and does `work` with it. Returns the data of that job. */
export async function takeNext(
  backend: Backend,
  work: (job: Job, token?: string) => Promise<unknown> = async () => ({}),
): Promise<unknown> {
  const taken = Promise.withResolvers<unknown>()
  anotherWorker(backend, (job, token) => work(job, token).finally(() => taken.resolve(job.data)))
  return taken.promise
}
