import { expect, inject, test } from 'vitest'
import { aGate } from '../../support/gate.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { aRedis, aWorkerOn, message } from '../../support/worker-log.ts'
import { nameInDatabase } from '../../../jobs/queue/port.ts'

const APPEND_ONLY = { 'with its append-only file': true, 'without one': false }

test.each(Object.entries(APPEND_ONLY).slice(0, inject('isDeep') ? 2 : 1))(
  'a Redis that is killed in the middle of a run and comes back %s lets the run go on',
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
    await expect.poll(() => valueOf(place.mirror, COMPLETE)).toBeGreaterThan(1)
    expect(worker.lines.filter((line) => line.includes('"queue fails"'))).toHaveLength(1)
  },
)

const COMPLETE = `SELECT count(*) FROM runs WHERE status = 'complete'`

// The worker takes a job that was dropped for one without an organization.
test.each([
  ['a job that waits', 200],
  ['the list of the jobs that wait', 3_600_000],
])('a Redis that makes room and drops %s does not keep the organization from its next run', async (what, delay) => {
  const { redis, place, worker } = await aWorkerOn(await aRedis())
  await worker.ran('acme')
  const { backend, queues } = await someQueues(place.queue, place.mirror)
  const options = { jobId: 'acme.1', delay, deduplication: { id: 'acme' } }
  const { id } = await queues.sync.add('schedule', { organization: 'acme' }, options)
  const isJob = what === 'a job that waits'
  await redis.command('DEL', `bull:${nameInDatabase(backend, 'sync')}:${isJob ? id : 'delayed'}`)
  if (isJob) await expect.poll(() => queues.sync.getFailedCount()).toBe(1)

  expect(await queues.request('sync', 'acme', 'manual')).toMatchObject({ added: true })
  await expect.poll(() => valueOf(place.mirror, COMPLETE)).toBe(2)
})
