import { expect, inject, test } from 'vitest'
import { aGate } from '../../support/workplace.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { aPlaceOn, aRedis, message, startWorker } from '../../support/worker-log.ts'
import { nameInDatabase } from '../../../jobs/queue/port.ts'

const KILLED = Object.entries({ 'with its append-only file': true, 'without one': false })

const TRIED = KILLED.slice(0, inject('isDeep') ? 2 : 1)

test.each(TRIED)('a run goes on where a Redis is killed in its middle and comes back %s', async (_how, appendOnly) => {
  const gate = aGate({ fromPage: 3 })
  const redis = await aRedis({ appendOnly })
  const place = await aPlaceOn(redis, { gate })
  const worker = startWorker(place)
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
  await expect.poll(() => valueOf(place.mirror, COMPLETE)).toBeGreaterThan(1)
  expect(worker.lines.filter((line) => line.includes('"queue fails"'))).toHaveLength(1)
})

const COMPLETE = `SELECT count(*) FROM runs WHERE status = 'complete'`

// The worker takes a job that was dropped for one without an organization.
test('a Redis that makes room and drops a job that waits, or their list, keeps no organization from its next run', async () => {
  const redis = await aRedis()
  const place = await aPlaceOn(redis, { organizations: 2 })
  const worker = startWorker(place)
  for (const id of ['acme', 'globex']) await worker.ran(id)
  const { backend, queues } = await someQueues(place.queue, place.mirror)
  const held = await backend.values.read('mirror')
  await redis.command('FLUSHALL')
  // Another mirror would come in.
  await expect.poll(() => backend.values.read('mirror')).toBe(held)
  const add = (id: string, delay: number) =>
    queues.sync.add('schedule', { organization: id }, { jobId: `${id}.1`, delay, deduplication: { id } })
  const drop = (key = '') => redis.command('DEL', `bull:${nameInDatabase(backend, 'sync')}:${key}`)

  await drop((await add('acme', 200)).id)
  await expect.poll(() => queues.sync.getFailedCount()).toBe(1)
  expect(await queues.request('sync', 'acme', 'manual')).toBe('added')
  await add('globex', 3_600_000)
  await drop('delayed')
  expect(await queues.request('sync', 'globex', 'manual')).toBe('added')
  await expect.poll(() => valueOf(place.mirror, COMPLETE)).toBe(4)
})
