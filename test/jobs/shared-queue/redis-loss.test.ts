import { describe, expect, onTestFinished, test } from 'vitest'
import { onThisMachine } from '../../support/busy-machine.ts'
import { eventually } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace, aQueue, someQueues } from '../../support/jobs-workplace.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { startRedis, type RedisServer } from '../../support/redis-server.ts'
import { startCli } from '../../support/run-cli.ts'
import { startWorker } from '../../support/worker-here.ts'
import { message } from '../../support/worker-log.ts'
import { startWorkerProcess } from '../../support/worker-process.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const PASSWORD = 'made-up-password-of-the-queue'

describe('a Redis that', () => {
  test('forgets everything while nothing runs has its schedules back within a period', async () => {
    const { redis, place, worker } = await aWorkerOn(await aRedis())
    await worker.ran('acme')
    await redis.command('FLUSHALL')

    const { queues } = await someQueues(place.queue, place.mirror)
    const schedulers = await eventually(
      () => queues.tick.getJobSchedulers(),
      (found) => found.length > 0,
    )
    expect(schedulers.map(({ key }) => key)).toEqual(['acme'])
    expect(await queues.tick.getDelayed()).toHaveLength(1)
  })

  test('forgets everything in the middle of a run leaves a mirror that is completed all the same', async () => {
    const gate = aGate({ fromPage: 3 })
    const { redis, place, worker } = await aWorkerOn(await aRedis(), gate)
    await gate.reached
    await redis.command('FLUSHALL')
    await worker.said(message('schedules reconciled'))
    await eventually(
      () => worker.lines,
      (lines) => lines.some((line) => line.includes('could not renew lock')),
    )
    gate.open()
    await worker.ran('acme')

    expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(400)
    expect(valueOf(place.mirror, 'SELECT status FROM runs ORDER BY id DESC')).toBe('complete')
  })

  test.each([
    ['with its append-only file', true],
    ['without one', false],
  ])('is killed in the middle of a run and comes back %s lets the run go on', async (_how, appendOnly) => {
    const gate = aGate({ fromPage: 3 })
    const { redis, place, worker } = await aWorkerOn(await aRedis({ appendOnly }), gate)
    await gate.reached
    await redis.kill()
    await worker.said(message('queue lost'))
    gate.open()
    await eventually(
      () => valueOf(place.mirror, 'SELECT status FROM runs ORDER BY id'),
      (status) => status === 'complete',
    )
    await redis.start()
    await worker.said(message('queue back'))

    const { queues } = await someQueues(place.queue, place.mirror)
    const schedulers = await eventually(
      () => queues.tick.getJobSchedulers(),
      (found) => found.length > 0,
    )
    expect(schedulers.map(({ key }) => key)).toEqual(['acme'])
    expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(400)
    await queues.requestSync('acme', 'manual')
    await eventually(
      () => valueOf(place.mirror, `SELECT count(*) FROM runs WHERE status = 'complete'`),
      (runs) => Number(runs) > 1,
    )
    expect(worker.lines.filter((line) => line.includes('"queue lost"'))).toHaveLength(1)
  })

  test('is gone for good does not keep a worker from stopping', async () => {
    const gate = aGate({ fromPage: 3 })
    const { redis, worker } = await aWorkerProcessOn(await aRedis(), gate)
    await gate.reached
    await redis.kill()
    await worker.said(message('queue lost'))
    worker.send('SIGTERM')
    const { code, tookMs } = await worker.ended

    expect(code).toBe(143)
    expect(tookMs).toBeLessThan(onThisMachine(10_000))
  })

  test('stalls when a worker starts does not keep it from stopping', async () => {
    const redis = await aRedis()
    await redis.command('CLIENT', 'PAUSE', '60000', 'WRITE')
    const { worker } = await aWorkerProcessOn(redis)
    await worker.said(message('worker starting'))
    worker.send('SIGTERM')
    const { code, tookMs } = await worker.ended

    expect(code).toBe(143)
    expect(tookMs).toBeLessThan(onThisMachine(10_000))
  })

  test('gets its password, which nothing else shows', async () => {
    const { redis, worker } = await aWorkerOn(await aRedis({ password: PASSWORD }))
    await worker.ran('acme')
    await redis.kill()
    await worker.said(message('queue lost'))
    await redis.start()
    await worker.said(message('queue back'))
    await worker.stop()

    expect(worker.lines.length).toBeGreaterThan(4)
    expect(worker.lines.join('\n')).not.toContain(PASSWORD)
  })
})

describe('worker --once', () => {
  test('ends when it is stopped, although Redis is gone', async () => {
    const redis = await aRedis()
    const gate = aGate({ fromPage: 3 })
    const place = await aPlaceOn(redis, gate)
    const running = startCli(['worker', '--once', '--config', place.config], { cwd: place.folder })
    await gate.reached
    await redis.kill()
    const { code, tookMs, stdout } = await stopped(running)

    expect(code).toBe(143)
    expect(tookMs).toBeLessThan(onThisMachine(10_000))
    expect(stdout).toMatch(/acme +interrupted/)
  })

  test('ends when it is stopped, although Redis stalls before there is a job', async () => {
    const redis = await aRedis()
    const place = await aPlaceOn(redis)
    await redis.command('CLIENT', 'PAUSE', '60000', 'WRITE')
    const running = startCli(['worker', '--once', '--config', place.config], { cwd: place.folder })
    await eventually(
      () => redis.command('CLIENT', 'LIST'),
      (clients) => String(clients).includes('flags=b'),
    )
    const { code, tookMs, stderr } = await stopped(running)

    expect(code).toBe(143)
    expect(tookMs).toBeLessThan(onThisMachine(10_000))
    expect(stderr).not.toContain('Unexpected')
  })
})

async function stopped(running: ReturnType<typeof startCli>) {
  const stoppedAtMs = performance.now()
  running.send('SIGTERM')
  const ended = await running.ended
  return { ...ended, tookMs: performance.now() - stoppedAtMs }
}

async function aRedis(options: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
  const redis = await startRedis(options)
  onTestFinished(() => redis.close())
  return redis
}

async function aPlaceOn(redis: RedisServer, gate = aGate({ fromPage: 1000 })) {
  const sandbox = await aSandbox({ customers: [400], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { queue: aQueue(redis.url) })
  return place
}

async function aWorkerOn(redis: RedisServer, gate?: ReturnType<typeof aGate>) {
  const place = await aPlaceOn(redis, gate)
  return { redis, place, worker: startWorker(place) }
}

async function aWorkerProcessOn(redis: RedisServer, gate?: ReturnType<typeof aGate>) {
  const place = await aPlaceOn(redis, gate)
  return { redis, worker: startWorkerProcess(place) }
}
