import { expect, test } from 'vitest'
import * as runs from '../../jobs/run-job.ts'
import { TIMINGS } from '../../jobs/timings.ts'
import * as errors from '../../src/errors/errors.ts'
import type { LastRun } from '../../src/model/mirror.ts'
import type { Trigger } from '../../src/model/report.ts'
import { DAY_MS, HOUR_MS } from '../support/builders.ts'

const USUAL: runs.Circumstances = {
  ...{ kind: 'sync', waitedMs: 0, maxWaitMs: HOUR_MS, startsLeft: 99, stopping: false, lockLost: false },
  timings: { leasedWaitMs: 30_000, mirrorWaitMs: 20_000 },
}
const STOPS_LOST = { stopping: true, lockLost: true }
const AT_MOST = { waitedMs: HOUR_MS - 60_000 }
const QUICK = { kind: 'quick' } as const

const refused = new errors.SourceRefused('no', { code: 'forbidden', status: 403 })
const newer = new errors.MirrorUnusable('no', { code: 'version' })
const stopped = new errors.Interrupted('stop')
const leased = new errors.OrganizationLeased('no')
const long = new errors.MaxRunReached('long')
const slowDown = (waitMs?: number) => new errors.RateLimited('wait', { code: 'rate-limited', status: 429, waitMs })
const down = (waitMs?: number) => new errors.SourceUnavailable('down', { code: 'server-error', waitMs })

/** For every code, test/errors.test.ts has what its row says. */
test.each<[what: string, error: Error | undefined, around: Partial<typeof USUAL>, verdict: string, waits?: 'waits']>([
  ['by 403', refused, {}, 'give-up'],
  ['by 429 with a time', slowDown(90_000), {}, 'wait 90000', 'waits'],
  ['by 429 without one', slowDown(), {}, 'wait 60000', 'waits'],
  ['by 429 beyond maxWait', slowDown(HOUR_MS + 1), {}, 'give-up'],
  ['to wait as long as it may in total', slowDown(60_000), AT_MOST, 'wait 60000', 'waits'],
  ['to wait longer than it may in total', slowDown(60_001), AT_MOST, 'give-up'],
  ['to wait, and was started too often', slowDown(1), { startsLeft: 0 }, 'give-up'],
  ['by 503 with a time', down(70_000), {}, 'retry 70000', 'waits'],
  ['by 503 without one', down(), {}, 'retry 0'],
  ['by maxRun', long, {}, 'wait 1000'],
  ['by maxRun, and was started too often', long, { startsLeft: 0 }, 'give-up'],
  ['by a mirror that is locked', new errors.MirrorUnusable('no', { code: 'busy' }), {}, 'retry 20000'],
  ['by a mirror of another version', newer, {}, 'hand-back'],
  ['by a mirror of another version, and its lock is lost', newer, { lockLost: true }, 'abandon'],
  ['by a run outside the queue', leased, {}, 'wait 30000'],
  ['by an interruption without a stop of the worker', stopped, {}, 'abandon'],
  ['with its worker', stopped, { stopping: true }, 'hand-back'],
  ['with its worker, and its lock is lost', stopped, STOPS_LOST, 'abandon'],
  ['by something unexpected', new TypeError('x is not a function'), {}, 'retry 0'],
  ['complete', undefined, {}, 'complete'],
  ['complete, while its worker stops and its lock is lost', undefined, STOPS_LOST, 'complete'],
  ['with its worker, and was quick', stopped, { stopping: true, ...QUICK }, 'hand-back'],
  ['by 403, and was quick', refused, QUICK, 'give-up'],
  ['by a service that is down, and was quick', down(), QUICK, 'give-up'],
  ['by another run, and was quick', leased, QUICK, 'drop'],
  ['by maxRun, and was quick', long, QUICK, 'drop'],
  ['by a person, and was quick', new errors.Cancelled('acme: made up'), QUICK, 'drop'],
])('the verdict on a run that ended %s', (_what, error, around, expected, waits) => {
  const verdict = runs.verdictOf(error, { ...USUAL, ...around })

  expect(Object.values(verdict).join(' ')).toBe(expected)
  expect(runs.isWaiting(error, verdict)).toBe(waits === 'waits')
})

const DUE_MS = Date.UTC(2026, 2, 5, 2)
const NOW_MS = DUE_MS + 10 * HOUR_MS
const SCHEDULE = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0, quick: '*/15 * * * *' }

const read = aRun({})
const before = aRun({ startedAtMs: DUE_MS - DAY_MS, endedAtMs: DUE_MS - DAY_MS, readAsOfMs: DUE_MS - DAY_MS })
const REFUSED = { status: 'failed', errorCode: 'unauthorized' } as const
const failed = (errorCode: string) => aRun({ status: 'failed', errorCode, readAsOfMs: undefined })
const forGood = failed('unauthorized')
const partly = (partialErrorCode: string): LastRun => ({ ...read, partialErrorCode })
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
  ['that was refused after the look', { lastRun: forGood }, 'refused-since'],
  ['that was refused before the look', { lastRun: { ...forGood, endedAtMs: DUE_MS + 1 } }, undefined],
  ['that was refused before its job', { trigger: 'schedule', lastRun: forGood }, 'refused-since'],
  ['that was refused the night before', { trigger: 'schedule', lastRun: { ...before, ...REFUSED } }, undefined],
  ['whose service was down after the look', { lastRun: failed('network') }, undefined],
  ['whose mirror a newer version changed', { trigger: 'schedule', lastRun: failed('version') }, undefined],
  ['again, after it was read by it', { ...AGAIN, lastRun: ofThisJob }, 'ended-before'],
  ['again, after a pause', { ...AGAIN, lastRun: { ...ofThisJob, status: 'waiting' } }, undefined],
])('why no full run is made for an organization %s', (_what, job, why) => {
  const asked = { trigger: 'catch-up', dueMs: DUE_MS, starts: 1, lastRun: undefined, ...job } as const
  const { trigger, dueMs, starts, lastRun } = asked
  const started = { name: trigger, data: { dueMs }, timestamp: DUE_MS + 2000, attemptsStarted: starts }

  expect(runs.whyNotNeeded(started, lastRun, DUE_MS + 5000)).toBe(why)
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
  ['the last quick run was refused', 'refused', { lastRun: partly('unauthorized') }],
  ['it was refused, and a person asks', undefined, { lastRun: partly('unauthorized'), trigger: 'manual' }],
  ['the last quick run failed by an outage', undefined, { lastRun: partly('server-error') }],
])('why no quick run is made where %s: %s', async (_where, expected, around) => {
  const usual = { trigger: 'schedule', isConfigured: true, quick: SCHEDULE.quick, fullRun: undefined, lastRun: read }
  const { trigger, isConfigured, quick, fullRun, lastRun } = { ...usual, ...around }
  const organization = { id: 'acme', schedule: Object({ ...SCHEDULE, quick }), resumeWithinMs: 6 * HOUR_MS }
  const known = { queues: { stateOf: async () => fullRun }, now: () => NOW_MS }
  const configured = isConfigured ? organization : undefined

  expect(await runs.whyNoPartialRun(configured, { name: trigger }, lastRun, known)).toBe(expected)
})

type Started = { trigger: Trigger; dueMs: number | undefined; starts: number; lastRun: LastRun | undefined }

type Around = Partial<{ trigger: string; isConfigured: boolean; fullRun: 'active' | 'prioritized' }> & {
  quick?: string | undefined
  lastRun?: LastRun | undefined
}

function cut(status: LastRun['status'], agoMs: number): LastRun {
  return { ...read, status, startedAtMs: NOW_MS - agoMs }
}

test.each([
  [20, undefined, 'another-configuration'],
  [20, '99.0.0', 'newer-version'],
  [21, '99.0.0', 'give-up'],
])('a job that no worker can run ends its start %i, of version %s, with %s', async (attemptsStarted, version, end) => {
  const ends: string[] = []
  const data = { organization: 'umbrella', version }
  const job = { data, opts: {}, attemptsStarted, moveToDelayed: async () => {} }
  const onRun = ({ verdict }: runs.RunOfJob) => ends.push(verdict.kind)
  const listener = { onRun, onNoRun: ({ why }: runs.NoRunOfJob) => ends.push(why) }
  const never = new AbortController().signal
  const processing: runs.Processing = Object({
    ...{ organizationOf: () => undefined, mirror: { listLastRuns: async () => [] }, listener, stop: never },
    ...{ pauses: { latest: async () => new Map() }, timings: TIMINGS, now: Date.now },
  })
  const signals = { lost: undefined, cancelled: never }

  await expect(runs.runForJob('sync', Object(job), signals, processing)).rejects.toBeInstanceOf(Error)
  expect(ends).toEqual([end])
})

/** A run since the due time, which read the list to its end. */
function aRun(run: Partial<LastRun>): LastRun {
  const startedAtMs = DUE_MS + 1000
  const complete = { status: 'complete', errorCode: undefined, readAsOfMs: startedAtMs } as const
  return { organization: 'acme', startedAtMs, endedAtMs: DUE_MS + 3000, ...complete, ...run }
}
