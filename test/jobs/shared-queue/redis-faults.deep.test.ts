import { expect, test } from 'vitest'
import { eventually, stoppedWithinMs } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../../support/mirror-file.ts'
import type { RedisServer } from '../../../bench/redis-server.ts'
import {
  aPlaceOn,
  aRedis,
  aWorkerOn,
  command,
  message,
  ORGANIZATIONS,
  readiness,
  REFUSALS,
  startWorker,
  startWorkerProcess,
} from '../../support/worker-log.ts'

test.each(REFUSALS)(
  'a Redis that %s is reported once, the workers pause, and work continues by itself',
  async (_what, begin, end, reason) => {
    const redis = await aRedis()
    const gate = aGate({ fromPage: 2 })
    const place = await aPlaceOn(redis, { organizations: ORGANIZATIONS, gate })
    const worker = startWorker(place, { timings: { firstPauseMs: 20, longestPauseMs: 100, settleMs: 1000 } })
    await worker.said(message('worker started'))
    const { queues } = await someQueues(place.queue, place.mirror)
    const counts = () => queues.sync.getJobCounts('active', 'waiting', 'delayed', 'failed')
    await eventually(counts, ({ active, waiting }) => active === ORGANIZATIONS - 1 && waiting === 1)

    await command(redis, begin)
    gate.open()
    await worker.said(message('queue fails'))
    await expect.poll(() => refusals(redis, reason)).toBeGreaterThanOrEqual(12)
    const told = worker.lines.filter((line) => line.includes('"queue fails"'))
    expect(told.length).toBeLessThanOrEqual(4)
    expect(told.join('\n')).toContain(reason)
    const refused = await readiness(worker)
    expect(refused).toMatchObject({ ready: false })
    expect(String(refused['problems'])).toContain(`the queue cannot be written: ${reason}`)

    await command(redis, end)
    await worker.said(message('queue back'))
    await expect.poll(() => readiness(worker)).toMatchObject({ ready: true })
    await eventually(counts, ({ active, waiting }) => active === 0 && waiting === 0)
    expect(rowsOf(place.mirror, `SELECT DISTINCT organization FROM runs WHERE status = 'complete'`)).toHaveLength(
      ORGANIZATIONS,
    )
    expect(worker.lines.filter((line) => line.includes('"queue back"'))).toHaveLength(1)
    await worker.stop()
  },
)

/** How often the server has refused a command for this reason. */
async function refusals(redis: RedisServer, reason: string): Promise<number> {
  const info = String(await redis.command('INFO', 'errorstats'))
  return Number(new RegExp(`errorstat_${reason}:count=(\\d+)`).exec(info)?.[1] ?? 0)
}

test('a Redis that forgets everything in the middle of a run leaves a mirror that is completed all the same', async () => {
  const gate = aGate({ fromPage: 3 })
  const { redis, place, worker } = await aWorkerOn(await aRedis(), gate)
  await gate.reached
  await redis.command('FLUSHALL')
  gate.open()
  await worker.ran('acme')
  await expect.poll(() => valueOf(place.mirror, 'SELECT status FROM runs ORDER BY id DESC')).toBe('complete')

  expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(400)
})

test('a Redis that is gone for good does not keep a worker from stopping', async () => {
  const gate = aGate({ fromPage: 3 })
  const redis = await aRedis()
  const worker = startWorkerProcess(await aPlaceOn(redis, { gate }))
  await gate.reached
  await redis.kill()
  await expectStops(worker, 'queue fails')
})

test('a Redis that stalls when a worker starts does not keep it from stopping', async () => {
  const redis = await aRedis()
  await redis.command('CLIENT', 'PAUSE', '60000', 'WRITE')
  await expectStops(startWorkerProcess(await aPlaceOn(redis)), 'worker starting')
})

/** Once it has logged this message. */
async function expectStops(worker: ReturnType<typeof startWorkerProcess>, logged: string): Promise<void> {
  await worker.said(message(logged))
  worker.send('SIGTERM')
  const { code, tookMs } = await worker.ended
  expect(code).toBe(143)
  expect(tookMs).toBeLessThan(stoppedWithinMs())
}
