import { expect, test } from 'vitest'
import type { Queues } from '../../../jobs/queue/queues.ts'
import { TIMINGS } from '../../../jobs/timings.ts'
import { LEASE_MS } from '../../../src/store/refusals.ts'
import { eventually } from '../../support/eventually.ts'
import { aGate, aSandbox, organizationsOf } from '../../support/workplace.ts'
import { aJobsWorkplace, anotherWorker, someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { message, startWorker, aWorkerOf } from '../../support/worker-log.ts'

test('the job of a killed worker is taken over within 40 seconds, and a run whose machine is lost within 90', () => {
  // Its job is given to another worker when its lock has run out and that is noticed.
  const takenOverMs = TIMINGS.lockMs + TIMINGS.stalledMs
  expect(takenOverMs).toBeLessThanOrEqual(40_000)
  // That worker finds the lease of the run, and waits for its end.
  expect(Math.max(takenOverMs, LEASE_MS) + TIMINGS.leasedWaitMs).toBeLessThan(90_000)
})

const NEVER = { lockMs: 600_000, stalledMs: 600_000, catchUpMs: 600_000 }

test.each<[what: string, opens: (mirror: string) => void, verdict: string, runs: string[]]>([
  ['lost its lease too', (mirror) => tamper(mirror, 'DELETE FROM leases'), 'wait', ['running']],
  ['kept its lease to the end of the run', () => {}, 'complete', ['complete']],
])('a worker whose job was taken over and that %s leaves the job as it is', async (_what, prepare, verdict, runs) => {
  const gate = aGate({ fromPage: 2 })
  const settings = { each: { concurrency: 1 }, jobs: { concurrency: 1 }, timings: NEVER }
  const { place, worker } = await aWorkerOf({ customers: [300], intercept: gate.intercept }, settings)
  await gate.reached
  const { backend, queues } = await someQueues(place.queue, place.mirror)
  const jobId = (await queues.sync.getDeduplicationJobId('acme')) ?? ''
  await (await queues.sync.getJob(jobId))?.moveToWait('0')
  const other = anotherWorker(backend)
  const next = () => other.getNextJob('token of another worker', { block: false })
  const taken = await eventually(next, (job) => job !== undefined)
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

test('a pause that the service asked of one worker holds in the other, under the limit they share', async () => {
  let acmeKey = ''
  const gate = aGate({ key: () => acmeKey, fromPage: 2 })
  const sandbox = await aSandbox({
    ...{ customers: [1500, 500, 500], intercept: gate.intercept },
    rateLimits: [{ organization: 'globex', requests: 2, windowMs: 90_000 }],
  })
  acmeKey = sandbox.organizations[0]?.apiKey ?? ''
  const rateLimit = { shared: 'vendor', requestsPerMinute: 1200 }
  const organizations = organizationsOf(sandbox, { concurrency: 1 }).map((organization) =>
    organization.id === 'initech' ? organization : { ...organization, rateLimit },
  )
  const place = aJobsWorkplace(organizations, { jobs: { concurrency: 1 } })
  // Each reads one organization at a time, and acme keeps its worker busy.
  const workers = [startWorker(place), startWorker(place)]
  const ran = (organization: string, verdict?: string) =>
    Promise.any(workers.map((worker) => worker.ran(organization, verdict)))
  await gate.reached
  await ran('globex', 'wait')
  gate.open()
  const paused = await ran('acme', 'wait')
  await ran('initech')

  expect(paused.report).toMatchObject({ status: 'waiting', throttled: 0, error: { code: 'rate-limited' } })
  expect(valueOf(place.mirror, "SELECT status FROM runs WHERE organization = 'initech'")).toBe('complete')
})
