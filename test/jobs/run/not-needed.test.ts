import { type IQueueBackend, withBackend } from 'bullmq'
import { describe, expect, test } from 'vitest'
import { type Backend, nameInDatabase } from '../../../jobs/queue/port.ts'
import { type JobAtStart, whyNotNeeded } from '../../../jobs/run/why-no-run.ts'
import type { LastRun } from '../../../src/model/mirror.ts'
import { eventually } from '../../support/eventually.ts'
import { aJobsWorkplace, someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf, tamper } from '../../support/mirror-file.ts'
import { startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const DUE_MS = Date.UTC(2026, 2, 5, 2)
const SECOND_MS = 1000

describe('a job that starts', () => {
  const read = aLastRun({ readAsOfMs: DUE_MS + SECOND_MS })
  const refused = aLastRun({ status: 'failed', errorCode: 'unauthorized', readAsOfMs: undefined })
  const down = aLastRun({ status: 'failed', errorCode: 'network', readAsOfMs: undefined })
  const outdated = aLastRun({ status: 'failed', errorCode: 'version', readAsOfMs: undefined })
  const ofThisJob = aLastRun({ startedAtMs: DUE_MS + 3 * SECOND_MS, endedAtMs: DUE_MS + 4 * SECOND_MS })

  test.each<[what: string, job: Partial<JobAtStart>, why: string | undefined]>([
    ['that was never mirrored', {}, undefined],
    ['that was read the night before', { lastRun: aLastRun({ readAsOfMs: DUE_MS - SECOND_MS }) }, undefined],
    ['that another worker read since it was due', { lastRun: read }, 'read-since'],
    ['that a run for a catch-up read before its job', { trigger: 'schedule', lastRun: read }, 'read-since'],
    ['that a person wants', { trigger: 'manual', dueMs: undefined, lastRun: read }, undefined],
    ['whose read is dated far ahead', { lastRun: aLastRun({ readAsOfMs: DUE_MS + 9e8 }) }, undefined],
    ['that failed for good after the look', { lastRun: refused }, 'refused-since'],
    ['that failed for good before the look', { lastRun: { ...refused, endedAtMs: DUE_MS + 1 } }, undefined],
    ['that failed for good before its job', { trigger: 'schedule', lastRun: refused }, 'refused-since'],
    ['that failed for good the night before', { trigger: 'schedule', lastRun: dayBefore(refused) }, undefined],
    ['whose service was down after the look', { lastRun: down }, undefined],
    ['whose mirror a newer version changed', { trigger: 'schedule', lastRun: outdated }, undefined],
    ['that is due by the clock of the one who asked', { lastRun: dayBefore(read), nowMs: DUE_MS - 1 }, undefined],
    [
      'again, after it was read by it',
      { trigger: 'manual', dueMs: undefined, starts: 2, lastRun: ofThisJob },
      'ended-before',
    ],
    [
      'again, after a read before it',
      { trigger: 'manual', dueMs: undefined, starts: 2, lastRun: aLastRun({}) },
      undefined,
    ],
    [
      'again, after a pause',
      { trigger: 'manual', dueMs: undefined, starts: 2, lastRun: { ...ofThisJob, status: 'waiting' as const } },
      undefined,
    ],
  ])('for an organization %s', (_what, job, why) => {
    expect(whyNotNeeded(aJob(job))).toBe(why)
  })
})

test('a catch-up that was asked for after the run it was for has ended makes no run, and a request by hand makes one', async () => {
  const sandbox = await aSandbox({ customers: [30] })
  const place = aJobsWorkplace(organizationsOf(sandbox))
  const worker = startWorker(place, { timings: { catchUpMs: 600_000 } })
  await worker.ran('acme')
  const queues = await queuesOf(place)
  if (queues === undefined) return
  await eventually(
    () => queues.request('sync', 'acme', 'catch-up', { dueMs: 1, askedAtMs: Date.now() - 60_000 }),
    ({ added }) => added,
  )
  await worker.said(({ msg }) => msg === 'run not needed')
  expect(rowsOf(place.mirror, 'SELECT "trigger" FROM runs')).toHaveLength(1)

  await eventually(
    () => queues.request('sync', 'acme', 'manual'),
    ({ added }) => added,
  )
  await eventually(
    () => rowsOf(place.mirror, `SELECT "trigger" FROM runs WHERE status = 'complete' ORDER BY id`),
    (runs) => runs.length === 2,
  )
})

/** Nothing else can open a queue that lives in the worker. */
async function queuesOf(place: { queue: string; mirror: string }) {
  return place.queue === 'embedded' ? undefined : (await someQueues(place.queue, place.mirror)).queues
}

test('a job whose worker ended between the end of the run and the end of the job makes no second run', async () => {
  const place = await aMirroredPlace()
  const { backend, queues, close } = await someQueues(place.queue, place.mirror)
  await queues.request('sync', 'acme', 'manual')
  await startAndPutBack(backend)
  tamper(place.mirror, `UPDATE runs SET started_at = strftime('%Y-%m-%d %H:%M:%f', 'now')`)
  await close()

  const second = startWorker(place)
  const { why } = await second.said(({ msg }) => msg === 'run not needed')
  expect(why).toBe('ended-before')
  expect(rowsOf(place.mirror, 'SELECT status FROM runs')).toHaveLength(1)
})

/** A place whose worker has mirrored acme, and has ended. */
async function aMirroredPlace() {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [30] })))
  const worker = startWorker(place, { timings: { catchUpMs: 600_000 } })
  await worker.ran('acme')
  await worker.stop()
  return place
}

async function startAndPutBack(backend: Backend): Promise<void> {
  const { Worker } = withBackend<IQueueBackend, unknown>(backend.factory)
  const worker = new Worker(nameInDatabase(backend, 'sync'), undefined, { connection: {} })
  const job = await worker.getNextJob('a token')
  await job?.moveToWait('a token')
  await worker.close()
}

function aJob(job: Partial<JobAtStart>): JobAtStart {
  return {
    trigger: 'catch-up',
    askedAtMs: DUE_MS + 2 * SECOND_MS,
    dueMs: DUE_MS,
    starts: 1,
    lastRun: undefined,
    nowMs: DUE_MS + 5 * SECOND_MS,
    ...job,
  }
}

function aLastRun(run: Partial<LastRun>): LastRun {
  return {
    organization: 'acme',
    startedAtMs: DUE_MS + SECOND_MS,
    endedAtMs: DUE_MS + 3 * SECOND_MS,
    status: 'complete',
    errorCode: undefined,
    readAsOfMs: run.startedAtMs ?? DUE_MS + SECOND_MS,
    ...run,
  }
}

function dayBefore(run: LastRun): LastRun {
  const [startedAtMs, endedAtMs] = [run.startedAtMs - 86_400_000, (run.endedAtMs ?? 0) - 86_400_000]
  return { ...run, startedAtMs, endedAtMs, readAsOfMs: run.readAsOfMs && startedAtMs }
}
