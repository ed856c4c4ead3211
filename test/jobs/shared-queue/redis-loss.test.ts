import { describe, expect, inject, test } from 'vitest'
import { aGate } from '../../support/gate.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { aRedis, aWorkerOn, message } from '../../support/worker-log.ts'
import { nameInDatabase } from '../../../jobs/queue/port.ts'
import type { Queues } from '../../../jobs/queue/queues.ts'
import type { RedisServer } from '../../../bench/redis-server.ts'

const APPEND_ONLY: [how: string, appendOnly: boolean][] = [
  ['with its append-only file', true],
  ['without one', false],
]

describe('a Redis that', () => {
  test.each(APPEND_ONLY.slice(0, inject('isDeep') ? 2 : 1))(
    'is killed in the middle of a run and comes back %s lets the run go on',
    async (_how, appendOnly) => {
      const gate = aGate({ fromPage: 3 })
      const { redis, place, worker } = await aWorkerOn(await aRedis({ appendOnly }), gate)
      await gate.reached
      await redis.kill()
      await worker.said(message('queue fails'))
      gate.open()
      await expect.poll(() => valueOf(place.mirror, 'SELECT status FROM runs ORDER BY id')).toBe('complete')
      await redis.start()
      await worker.said(message('queue back'))

      const { queues } = await someQueues(place.queue, place.mirror)
      expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(400)
      await queues.request('sync', 'acme', 'manual')
      await expect
        .poll(() => valueOf(place.mirror, `SELECT count(*) FROM runs WHERE status = 'complete'`))
        .toBeGreaterThan(1)
      expect(worker.lines.filter((line) => line.includes('"queue fails"'))).toHaveLength(1)
    },
  )
})

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

    expect(await queues.request('sync', 'acme', 'manual')).toMatchObject({ added: true })
    await expect.poll(() => valueOf(place.mirror, `SELECT count(*) FROM runs WHERE status = 'complete'`)).toBe(2)
  })
})

async function dropJob({ redis, queues, base }: Waiting): Promise<void> {
  const { id } = await addDelayed(queues, 200)
  await redis.command('DEL', `${base}${id}`)
  await expect.poll(() => queues.sync.getFailedCount()).toBe(1)
}

async function dropList({ redis, queues, base }: Waiting): Promise<void> {
  await addDelayed(queues, 3_600_000)
  await redis.command('DEL', `${base}delayed`)
}

function addDelayed({ sync }: Queues, delay: number) {
  return sync.add('schedule', { organization: 'acme' }, { jobId: 'acme.1', delay, deduplication: { id: 'acme' } })
}
