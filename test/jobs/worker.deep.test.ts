import { describe, expect, test, inject } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { aGate } from '../support/gate.ts'
import { aJobsWorkplace } from '../support/jobs-workplace.ts'
import { valueOf } from '../support/mirror-file.ts'
import { startWorker } from '../support/worker-here.ts'
import { startWorkerProcess } from '../support/worker-process.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'
import { aWorkerOf, expectWhole } from '../support/one-worker.ts'
import { stoppedWithinMs } from '../support/busy-machine.ts'

describe('being stopped in the middle of a run', () => {
  test('kill -9 loses no page that was saved, and the next worker completes the run', async () => {
    const gate = aGate({ fromPage: 4 })
    const { place, worker } = await aWorkerOf(500, gate, startWorkerProcess)
    await gate.reached
    await eventually(
      () => valueOf(place.mirror, 'SELECT count(*) FROM customers'),
      (rows) => rows === 300,
    )
    worker.send('SIGKILL')
    await worker.ended
    const saved = valueOf(place.mirror, 'SELECT count(*) FROM customers')
    gate.open()
    const next = startWorker(place)
    await next.ran('acme')

    expect(saved).toBe(300)
    expectWhole(place.mirror, 500)
  })
})

test('waits between pages that were saved do not add up to maxWait', async () => {
  const sandbox = await aSandbox({ customers: [1000], rateLimits: [{ requests: 4, windowMs: 2000 }] })
  const place = aJobsWorkplace(organizationsOf(sandbox, { scan: 'chain', maxWait: '3s', concurrency: 1 }))
  const worker = startWorker(place, { timings: { longestWaitMs: 100 } })

  await worker.ran('acme', 'wait')
  await worker.ran('acme')

  expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(1000)
})

describe('being stopped in the middle of a run', () => {
  test('SIGTERM keeps the received pages, and the next worker continues', async () => {
    const gate = aGate({ fromPage: 4 })
    const { place, worker } = await aWorkerOf(500, gate, startWorkerProcess)
    await gate.reached
    worker.send('SIGTERM')
    // To give up waiting for an answer takes seconds.
    if (!inject('isDeep')) gate.open(4)
    const { code, tookMs } = await worker.ended
    const status = valueOf(place.mirror, 'SELECT status FROM runs')
    gate.open()
    const next = startWorker(place)
    await next.ran('acme')

    expect(code).toBe(143)
    expect(tookMs).toBeLessThan(stoppedWithinMs())
    expect(['interrupted', 'running']).toContain(status)
    expectWhole(place.mirror, 500)
  })
})
