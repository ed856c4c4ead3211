import { expect, test } from 'vitest'
import {
  type Circumstances,
  type JobVerdict,
  isWaiting,
  verdictOf,
  whyNoPartialRun,
  whyNotNeeded,
} from '../../../jobs/run/verdict.ts'
import {
  Interrupted,
  MaxRunReached,
  MirrorUnusable,
  OrganizationLeased,
  RateLimited,
  SourceRefused,
  SourceUnavailable,
} from '../../../src/errors/errors.ts'
import type { LastRun } from '../../../src/model/mirror.ts'
import type { Trigger } from '../../../src/model/report.ts'
import { aJobsWorkplace, anotherWorker, someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf, tamper } from '../../support/mirror-file.ts'
import { message, startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const HOUR_MS = 3_600_000
const USUAL: Circumstances = {
  kind: 'sync',
  waitedMs: 0,
  maxWaitMs: HOUR_MS,
  startsLeft: 99,
  stopping: false,
  lockLost: false,
  leasedWaitMs: 30_000,
  mirrorWaitMs: 20_000,
}
const retryAfter = (leastMs: number): JobVerdict => ({ kind: 'retry', leastMs })
const GIVE_UP = { kind: 'give-up' } as const

/** For every code, test/errors.test.ts has what its row says. */
test.each<[what: string, error: Error, verdict: JobVerdict, isWaiting: boolean]>([
  ['403', new SourceRefused('no', { code: 'forbidden', status: 403 }), GIVE_UP, false],
  ['429 with a time', new RateLimited('wait', { waitMs: 90_000 }), { kind: 'wait', waitMs: 90_000 }, true],
  ['429 without one', new RateLimited('wait', {}), { kind: 'wait', waitMs: 60_000 }, true],
  ['429 beyond maxWait', new RateLimited('wait', { waitMs: HOUR_MS + 1 }), GIVE_UP, false],
  [
    '503 with a time',
    new SourceUnavailable('down', { code: 'server-error', waitMs: 70_000 }),
    retryAfter(70_000),
    true,
  ],
  ['503 without one', new SourceUnavailable('down', { code: 'server-error' }), retryAfter(0), false],
  ['maxRun reached', new MaxRunReached('long'), { kind: 'wait', waitMs: 1000 }, false],
  ['a mirror that is locked', new MirrorUnusable('no', { code: 'busy' }), retryAfter(20_000), false],
  ['a mirror of another version', new MirrorUnusable('no', { code: 'version' }), { kind: 'hand-back' }, false],
  ['a run outside the queue', new OrganizationLeased('no'), { kind: 'wait', waitMs: 30_000 }, false],
  ['an interruption without a stop of the worker', new Interrupted('stop'), { kind: 'abandon' }, false],
  ['something unexpected', new TypeError('x is not a function'), retryAfter(0), false],
])('a run ended by %s', (_what, error, verdict, waits) => {
  expect(verdictOf(error, USUAL)).toEqual(verdict)
  expect(isWaiting(error, verdict)).toBe(waits)
})

test.each<[string, Error, JobVerdict]>([
  ['was refused', new SourceRefused('no', { code: 'forbidden', status: 403 }), GIVE_UP],
  ['met a service that is down', new SourceUnavailable('down', { code: 'network' }), GIVE_UP],
  ['met another run', new OrganizationLeased('no'), { kind: 'drop' }],
  ['reached its limit', new MaxRunReached('long'), { kind: 'drop' }],
])('a quick run that %s is not repeated', (_what, error, verdict) => {
  expect(verdictOf(error, { ...USUAL, kind: 'quick' })).toEqual(verdict)
})

const NEWER = new MirrorUnusable('no', { code: 'version' })
const FORBIDDEN = new SourceRefused('no', { code: 'forbidden', status: 403 })
const AT_MOST = { ...USUAL, waitedMs: HOUR_MS - 60_000 }

test.each<[string, Error | undefined, Partial<Circumstances>, JobVerdict['kind']]>([
  ['complete', undefined, {}, 'complete'],
  ['complete, while its worker stops and its lock is lost', undefined, { stopping: true, lockLost: true }, 'complete'],
  ['stopped with its worker', new Interrupted('stop'), { stopping: true }, 'hand-back'],
  ['stopped, and its lock is lost', new Interrupted('stop'), { stopping: true, lockLost: true }, 'abandon'],
  ['refused, and its lock is lost', FORBIDDEN, { stopping: true, lockLost: true }, 'abandon'],
  ['ended by a newer version, and its lock is lost', NEWER, { lockLost: true }, 'abandon'],
  ['to wait as long as it may in total', new RateLimited('wait', { waitMs: 60_000 }), AT_MOST, 'wait'],
  ['to wait longer than it may in total', new RateLimited('wait', { waitMs: 60_001 }), AT_MOST, 'give-up'],
  ['to wait, and was started too often', new RateLimited('wait', { waitMs: 1 }), { startsLeft: 0 }, 'give-up'],
])('the verdict on the job of a run that is %s', (_what, error, circumstances, kind) => {
  expect(verdictOf(error, { ...USUAL, ...circumstances }).kind).toBe(kind)
})

const DUE_MS = Date.UTC(2026, 2, 5, 2)
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
