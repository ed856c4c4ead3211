import { dirname, join } from 'node:path'
import { withBackend, type IQueueBackend } from 'bullmq'
import { expect, test } from 'vitest'
import { nameInDatabase } from '../../../../jobs/queue/port.ts'
import { prepareQueue, someQueues } from '../../../support/jobs-workplace.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'

test('a worker that waits for a delayed job looks at the clock every five seconds: the machine may have slept since', async () => {
  const mirror = join(temporaryFolder(), 'customers.db')
  prepareQueue(join(dirname(mirror), 'queue'))
  const { backend } = await someQueues('embedded', mirror)
  const { Worker } = withBackend<IQueueBackend, unknown>(backend.factory)
  const worker = new Worker(nameInDatabase(backend, 'sync'), undefined, { connection: {} })
  const sleepSeconds = (untilMs: number): unknown =>
    Reflect.apply(Reflect.get(worker, 'getBlockTimeout'), worker, [untilMs])

  expect(sleepSeconds(Date.now() + 3_600_000)).toBe(5)

  await worker.close()
})
