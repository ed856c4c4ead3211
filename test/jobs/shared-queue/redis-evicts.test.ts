import { describe, expect, test } from 'vitest'
import { nameInDatabase } from '../../../jobs/queue/port.ts'
import type { Queues } from '../../../jobs/queue/queues.ts'
import { eventually } from '../../support/eventually.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { valueOf } from '../../support/mirror-file.ts'
import type { RedisServer } from '../../support/redis-server.ts'
import { aRedis, aWorkerOn } from '../../support/worker-log.ts'

type Waiting = { redis: RedisServer; queues: Queues; base: string }

describe('a Redis that makes room', () => {
  test.each([
    ['drops a job that waits, which its worker then takes for a job without an organization', dropJob],
    ['drops the list of the jobs that wait', dropList],
  ])('and %s does not keep the organization from its next run', async (_what, drop) => {
    const { redis, place, worker } = await aWorkerOn(await aRedis())
    await worker.ran('acme')
    const { backend, queues } = await someQueues(place.queue, place.mirror)
    await drop({ redis, queues, base: `bull:${nameInDatabase(backend, 'sync')}:` })

    expect(await queues.requestSync('acme', 'manual')).toMatchObject({ added: true })
    await eventually(
      () => valueOf(place.mirror, `SELECT count(*) FROM runs WHERE status = 'complete'`),
      (runs) => Number(runs) === 2,
    )
  })
})

async function dropJob({ redis, queues, base }: Waiting): Promise<void> {
  const { id } = await addDelayed(queues, 200)
  await redis.command('DEL', `${base}${id}`)
  await eventually(
    () => queues.sync.getFailedCount(),
    (failed) => failed === 1,
  )
}

async function dropList({ redis, queues, base }: Waiting): Promise<void> {
  await addDelayed(queues, 3_600_000)
  await redis.command('DEL', `${base}delayed`)
}

function addDelayed({ sync }: Queues, delay: number) {
  return sync.add('schedule', { organization: 'acme' }, { jobId: 'acme.1', delay, deduplication: { id: 'acme' } })
}
