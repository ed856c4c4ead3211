import { expect, test } from 'vitest'
import { stoppedWithinMs } from '../../support/eventually.ts'
import { aGate } from '../../support/workplace.ts'
import { aPlaceOn, aRedis, message, startWorkerProcess } from '../../support/worker-log.ts'

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
