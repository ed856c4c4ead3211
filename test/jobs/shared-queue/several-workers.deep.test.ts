import { expect, inject, test } from 'vitest'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { dump, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { expectWhole, message, startWorker, startWorkerProcess } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('the job of a worker that was killed is taken over when its lock has run out, and its run goes on', async () => {
  const gate = aGate({ fromPage: 4 })
  const sandbox = await aSandbox({ customers: [500], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1, scan: 'chain' }))
  const killed = startWorkerProcess(place, { timings: { lockMs: 2000 } })
  await gate.reached
  killed.send('SIGKILL')
  await killed.ended
  gate.open()
  const next = startWorker(place, { timings: { catchUpMs: 3_600_000 } })
  await next.said(message('job taken over from a worker without a heartbeat'))
  await next.ran('acme')

  expectWhole(place.mirror, 500)
  expect(rowsOf(place.mirror, 'SELECT status, "trigger", resumed_from FROM runs ORDER BY id')).toEqual([
    { status: 'interrupted', trigger: 'catch-up', resumed_from: null },
    { status: 'complete', trigger: 'catch-up', resumed_from: 1 },
  ])
})

const WAKES = ['after the other run', 'while the other worker reads'].slice(0, inject('isDeep') ? 2 : 1)

test.each(WAKES)('a worker that was frozen and replaced writes nothing when it wakes up %s', async (wakes) => {
  const gate = aGate({ fromPage: 3 })
  const sandbox = await aSandbox({ customers: [600], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  const frozen = startWorkerProcess(place, { timings: { lockMs: 2000 } })
  await gate.reached
  await expect.poll(() => valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(200)

  frozen.send('SIGSTOP')
  const second = startWorker(place, { timings: { lockMs: 2000 } })
  await second.said(message('job taken over from a worker without a heartbeat'))
  // The lease in the mirror outlives the lock in the queue; this is the minute it takes to end.
  tamper(place.mirror, 'UPDATE leases SET expires_at_ms = 0, expires_monotonic_ms = 0')
  if (wakes === WAKES[0]) {
    gate.open()
    await second.ran('acme')
  } else {
    await expect.poll(() => valueOf(place.mirror, 'SELECT received FROM runs WHERE id = 2')).toBe(200)
  }
  const before = dump(place.mirror)
  frozen.send('SIGCONT')
  // It learns of it from the lease when it saves its page, or from the lock when it renews that.
  const woken = await frozen.said(({ report }) => report?.organization === 'acme')
  frozen.send('SIGTERM')
  await frozen.ended

  const { http = '' } = await second.said(message('worker started'))
  expect(await (await fetch(`${http}/metrics`)).text()).toContain('\ncustomer_mirror_jobs_taken_over_total 1\n')
  expect(woken.verdict?.kind).toBe('abandon')
  expect(dump(place.mirror)).toEqual(before)
  gate.open()
  await second.ran('acme')
  expect(rowsOf(place.mirror, 'SELECT status, received FROM runs ORDER BY id')).toEqual([
    { status: 'interrupted', received: 200 },
    { status: 'complete', received: 600 },
  ])
})
