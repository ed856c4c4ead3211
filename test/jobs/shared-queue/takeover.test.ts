import { withBackend, type IQueueBackend } from 'bullmq'
import { expect, inject, onTestFinished, test } from 'vitest'
import { queueNames, type Queues } from '../../../jobs/queue/queues.ts'
import { TIMINGS } from '../../../jobs/timings.ts'
import { LEASE_MS } from '../../../src/mirror/lease-errors.ts'
import { eventually } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace, someQueues } from '../../support/jobs-workplace.ts'
import { dump, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { startWorker } from '../../support/worker-here.ts'
import { message } from '../../support/worker-log.ts'
import { startWorkerProcess } from '../../support/worker-process.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('a run whose machine is lost is taken over within 90 seconds', () => {
  // Its job is given to another worker when its lock has run out and that is noticed; its lease must be over by then.
  expect(TIMINGS.lockMs + TIMINGS.stalledMs).toBeLessThan(90_000)
  expect(LEASE_MS).toBeLessThanOrEqual(TIMINGS.lockMs)
})

const WAKES = ['after the other run', 'while the other worker reads'].slice(0, inject('isDeep') ? 2 : 1)

test.each(WAKES)('a worker that was frozen and replaced writes nothing when it wakes up %s', async (wakes) => {
  const gate = aGate({ fromPage: 3 })
  const sandbox = await aSandbox({ customers: [600], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  const frozen = startWorkerProcess(place, { timings: { lockMs: 2000 } })
  await gate.reached
  await eventually(
    () => valueOf(place.mirror, 'SELECT count(*) FROM customers'),
    (rows) => rows === 200,
  )

  frozen.send('SIGSTOP')
  const second = startWorker(place, { timings: { lockMs: 2000 } })
  await second.said(message('job taken over from a worker without a heartbeat'))
  // The lease in the mirror outlives the lock in the queue; this is the minute it takes to end.
  tamper(place.mirror, 'UPDATE leases SET expires_at_ms = 0, expires_monotonic_ms = 0')
  if (wakes === WAKES[0]) {
    gate.open()
    await second.ran('acme')
  } else {
    await eventually(
      () => valueOf(place.mirror, 'SELECT received FROM runs WHERE id = 2'),
      (received) => received === 200,
    )
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

test.each<[what: string, opens: (mirror: string) => void, verdict: string, runs: string[]]>([
  ['lost its lease too', (mirror) => tamper(mirror, 'DELETE FROM leases'), 'abandon', ['running']],
  ['kept its lease to the end of the run', () => {}, 'complete', ['complete']],
])('a worker whose job was taken over and that %s leaves the job as it is', async (_what, prepare, verdict, runs) => {
  const gate = aGate({ fromPage: 2 })
  const sandbox = await aSandbox({ customers: [300], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { jobs: { concurrency: 1 } })
  const worker = startWorker(place, { timings: { lockMs: 600_000, stalledMs: 600_000, reconcileMs: 600_000 } })
  await gate.reached
  const { backend, queues } = await someQueues(place.queue, place.mirror)
  const jobId = (await queues.sync.getDeduplicationJobId('acme')) ?? ''
  await (await queues.sync.getJob(jobId))?.moveToWait('0')
  const { Worker } = withBackend<IQueueBackend, unknown>(backend.factory)
  const other = new Worker(queueNames(backend).sync, undefined, { connection: {} })
  onTestFinished(() => other.close())
  const taken = await eventually(
    () => other.getNextJob('token of another worker', { block: false }),
    (job) => job !== undefined,
  )
  const before = await asStored(queues, jobId)
  prepare(place.mirror)
  gate.open()
  await worker.ran('acme', verdict)
  await worker.stop()

  expect(taken?.id).toBe(jobId)
  expect(await asStored(queues, jobId)).toEqual(before)
  expect(rowsOf(place.mirror, 'SELECT status FROM runs').map(({ status }) => status)).toEqual(runs)
  expect(worker.lines.join('\n')).not.toMatch(/missing lock|lock mismatch|Lock mismatch/i)
  if (verdict !== 'complete') return
  await taken?.moveToWait('token of another worker')
  await startWorker(place).said(message('run not needed'))
  expect(rowsOf(place.mirror, 'SELECT status FROM runs')).toHaveLength(1)
})

async function asStored({ sync }: Queues, jobId: string) {
  const [job, state] = [await sync.getJob(jobId), await sync.getJobState(jobId)]
  return { state, job: JSON.stringify(job) }
}
