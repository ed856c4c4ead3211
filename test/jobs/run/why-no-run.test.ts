import { expect, test } from 'vitest'
import { whyNoPartialRun, whyNotNeeded } from '../../../jobs/run/verdict.ts'
import type { LastRun } from '../../../src/model/mirror.ts'
import type { Trigger } from '../../../src/model/report.ts'
import { aJobsWorkplace, anotherWorker, someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf, tamper } from '../../support/mirror-file.ts'
import { message, startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const DUE_MS = Date.UTC(2026, 2, 5, 2)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW_MS = DUE_MS + 10 * HOUR_MS
const SCHEDULE = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0, quick: '*/15 * * * *' }

const read = aRun({})
const before = aRun({ startedAtMs: DUE_MS - DAY_MS, endedAtMs: DUE_MS - DAY_MS, readAsOfMs: DUE_MS - DAY_MS })
const failed = (errorCode: string) => aRun({ status: 'failed', errorCode, readAsOfMs: undefined })
const BY_HAND = { trigger: 'manual', dueMs: undefined } as const
const AGAIN = { ...BY_HAND, starts: 2 }
const ofThisJob = aRun({ startedAtMs: DUE_MS + 3000, endedAtMs: DUE_MS + 4000 })

test.each<[what: string, job: Partial<Started>, why: string | undefined]>([
  ['that was never mirrored', {}, undefined],
  ['that was read the night before', { lastRun: before }, undefined],
  ['that another worker read since it was due', { lastRun: read }, 'read-since'],
  ['that a run for a catch-up read before its job', { trigger: 'schedule', lastRun: read }, 'read-since'],
  ['that a person wants', { ...BY_HAND, lastRun: read }, undefined],
  ['whose read is dated far ahead', { lastRun: aRun({ readAsOfMs: DUE_MS + 9e8 }) }, undefined],
  ['that failed for good after the look', { lastRun: failed('unauthorized') }, 'refused-since'],
  [
    'that failed for good before the look',
    { lastRun: { ...failed('unauthorized'), endedAtMs: DUE_MS + 1 } },
    undefined,
  ],
  ['that failed for good before its job', { trigger: 'schedule', lastRun: failed('unauthorized') }, 'refused-since'],
  [
    'that failed for good the night before',
    { trigger: 'schedule', lastRun: { ...before, status: 'failed', errorCode: 'unauthorized' } },
    undefined,
  ],
  ['whose service was down after the look', { lastRun: failed('network') }, undefined],
  ['whose mirror a newer version changed', { trigger: 'schedule', lastRun: failed('version') }, undefined],
  ['again, after it was read by it', { ...AGAIN, lastRun: ofThisJob }, 'ended-before'],
  ['again, after a pause', { ...AGAIN, lastRun: { ...ofThisJob, status: 'waiting' } }, undefined],
])('why no full run is made for an organization %s', (_what, job, why) => {
  const asked = { trigger: 'catch-up', dueMs: DUE_MS, starts: 1, lastRun: undefined, ...job } as const
  const { trigger, dueMs, starts, lastRun } = asked
  const started = { name: trigger, data: { dueMs }, timestamp: DUE_MS + 2000, attemptsStarted: starts }

  expect(whyNotNeeded(started, lastRun, DUE_MS + 5000)).toBe(why)
})

test.each<[string, string | undefined, Around]>([
  ['the list was read since it was due', undefined, {}],
  ['the organization left the configuration', 'not-scheduled', { isConfigured: false }],
  ['its line is gone', 'not-scheduled', { quick: undefined }],
  ['its line is gone, and a person asks', undefined, { quick: undefined, trigger: 'manual' }],
  ['a full run is under way', 'full-run', { fullRun: 'active' }],
  ['a full run is under way, and a person asks', 'full-run', { fullRun: 'prioritized', trigger: 'manual' }],
  ['the list was not read since it was due', 'due', { lastRun: before }],
  ['the list was not read since it was due, and a person asks', undefined, { lastRun: before, trigger: 'manual' }],
  ['there was never a run', 'due', { lastRun: undefined }],
  ['the full run was interrupted an hour ago', 'unfinished', { lastRun: cut('interrupted', HOUR_MS) }],
  ['the full run waits for the service since an hour', 'unfinished', { lastRun: cut('waiting', HOUR_MS) }],
  ['it was interrupted too long ago to be continued', undefined, { lastRun: cut('interrupted', 7 * HOUR_MS) }],
  ['it was interrupted by a clock an hour ahead', 'unfinished', { lastRun: cut('interrupted', -HOUR_MS) }],
  ['the last quick run was refused', 'refused', { lastRun: { ...read, partialErrorCode: 'unauthorized' } }],
  [
    'it was refused, and a person asks',
    undefined,
    { lastRun: { ...read, partialErrorCode: 'unauthorized' }, trigger: 'manual' },
  ],
  ['the last quick run failed by an outage', undefined, { lastRun: { ...read, partialErrorCode: 'server-error' } }],
])('why no quick run is made where %s: %s', async (_where, expected, around) => {
  expect(await whyNone(around)).toBe(expected)
})

type Started = { trigger: Trigger; dueMs: number | undefined; starts: number; lastRun: LastRun | undefined }

type Around = {
  trigger?: string
  isConfigured?: boolean
  quick?: string | undefined
  fullRun?: string
  lastRun?: LastRun | undefined
}

function whyNone({ trigger = 'schedule', isConfigured = true, fullRun, ...around }: Around) {
  const { quick, lastRun } = { quick: SCHEDULE.quick, lastRun: read, ...around }
  const organization = { id: 'acme', schedule: Object({ ...SCHEDULE, quick }), resumeWithinMs: 6 * HOUR_MS }
  const sync = {
    getDeduplicationJobId: async () => (fullRun === undefined ? null : 'job'),
    getJobState: async () => fullRun,
  }
  return whyNoPartialRun(isConfigured ? organization : undefined, { name: trigger }, lastRun, {
    queues: Object({ sync }),
    now: () => NOW_MS,
  })
}

function cut(status: LastRun['status'], agoMs: number): LastRun {
  return { ...read, status, startedAtMs: NOW_MS - agoMs }
}

test('a job whose worker ended between the end of the run and the end of the job makes no second run', async () => {
  const { place, worker } = await aMirroredPlace()
  await worker.stop()
  const { backend, queues, close } = await someQueues(place.queue, place.mirror)
  await queues.request('sync', 'acme', 'manual')
  const killed = anotherWorker(backend)
  await (await killed.getNextJob('a token'))?.moveToWait('a token')
  await killed.close()
  tamper(place.mirror, `UPDATE runs SET started_at = strftime('%Y-%m-%d %H:%M:%f', 'now')`)
  await close()

  expect(await startWorker(place).said(message('run not needed'))).toMatchObject({ why: 'ended-before' })
  expect(rowsOf(place.mirror, 'SELECT status FROM runs')).toHaveLength(1)
})

/** A place whose worker has mirrored acme. */
async function aMirroredPlace() {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [30] })))
  const worker = startWorker(place, { timings: { catchUpMs: 600_000 } })
  await worker.ran('acme')
  return { place, worker }
}

/** A run since the due time, which read the list to its end. */
function aRun(run: Partial<LastRun>): LastRun {
  const startedAtMs = DUE_MS + 1000
  const complete = { status: 'complete', errorCode: undefined, readAsOfMs: startedAtMs } as const
  return { organization: 'acme', startedAtMs, endedAtMs: DUE_MS + 3000, ...complete, ...run }
}
