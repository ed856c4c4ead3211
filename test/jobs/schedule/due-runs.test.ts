import { DelayedError } from 'bullmq'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { dueTimesLook, isMissed, type Occasion, requestMissedRuns } from '../../../jobs/schedule/due-runs.ts'
import type { Organization } from '../../../src/config/organization.ts'
import { repeatedly } from '../../../src/machine/timers.ts'
import type { LastRun } from '../../../src/model/mirror.ts'
import { aJobsWorkplace, someQueues, takeNext } from '../../support/jobs-workplace.ts'
import { anAwayOrganization } from '../../support/workplace.ts'
import { HOUR_MS, MINUTE_MS } from '../../support/builders.ts'

const NOW_MS = Date.parse('2026-01-11T12:00:00Z')
const DUE_MS = Date.parse('2026-01-11T01:00:00Z')

const SCHEDULE = { cron: '0 2 * * *', timezone: 'Europe/Paris', spreadMs: 0 }

const cut: LastRun = { ...completeAt(DUE_MS - 1), startedAtMs: DUE_MS + 5, status: 'interrupted' }
const failed: LastRun = { ...cut, status: 'failed', errorCode: 'unauthorized' }
const outage = (agoMs: number): LastRun => ({ ...failed, startedAtMs: NOW_MS - agoMs, errorCode: 'server-error' })
const withoutSecret = (agoMs: number): LastRun => ({ ...outage(agoMs), errorCode: 'config' })
const waiting = (agoMs: number): LastRun => ({ ...outage(agoMs), status: 'waiting', errorCode: 'rate-limited' })
const cancelled: LastRun = { ...failed, startedAtMs: DUE_MS, errorCode: 'cancelled', readAsOfMs: undefined }

test.each<[what: string, lastRun: LastRun | undefined, expected: boolean, occasion?: Occasion]>([
  ['of an organization never mirrored', undefined, true],
  ['where the last one began before the moment it was due', completeAt(DUE_MS - 1), true],
  ['where one began at that moment', completeAt(DUE_MS), false],
  ['where one began by a clock that is an hour ahead', completeAt(NOW_MS + HOUR_MS), false],
  ['where one began by a clock of another century', completeAt(Date.parse('2151-01-01T00:00:00Z')), true],
  ['where one was cut short', cut, true],
  ['where one failed for good', failed, false],
  ['where one failed for good before it was due', { ...failed, startedAtMs: DUE_MS - 1 }, true],
  ['where one failed for good by a clock that was wrong', { ...failed, startedAtMs: NOW_MS + 3 * HOUR_MS }, true],
  ['after an outage less than an hour ago', outage(HOUR_MS - 1), false],
  ['after an outage an hour ago', outage(HOUR_MS), true],
  ['where a secret was missing an hour ago', withoutSecret(HOUR_MS), true],
  ['where one waits for less than an hour', waiting(HOUR_MS - 1), false],
  ['where one waits for an hour, as its job may be lost', waiting(HOUR_MS), true],
  ['where a person cancelled it', cancelled, false],
  ['where a person cancelled one before it was due', { ...cancelled, startedAtMs: DUE_MS - 60_000 }, true],
  ['once again where one failed for good, at the start of a worker', failed, true, 'start'],
  ['where a person cancelled it, at the start of a worker', cancelled, false, 'start'],
  ['where a queue that was away may have lost a retry', outage(1), true, 'jobs-lost'],
  ['where a queue that was away may have lost a wait', waiting(1), true, 'jobs-lost'],
  ['where one failed for good, and the queue was away', failed, false, 'jobs-lost'],
])('a run is made up for %s', (_what, lastRun, expected, occasion = 'time') => {
  expect(isMissed(lastRun, { dueMs: DUE_MS, nowMs: NOW_MS, occasion })).toBe(expected)
})

test.each([
  ['without a cancel', undefined, ['acme', 'globex']],
  ['after a cancel for the last due time', DUE_MS, ['globex']],
  ['after a cancel for an earlier due time', DUE_MS - 1, ['acme', 'globex']],
])('missed runs are requested, of which globex has a job already: of acme %s', async (_what, untilMs, requested) => {
  const requests: unknown[] = []
  const request = async (_kind: string, organization: string, ...asked: unknown[]) => {
    requests.push([organization, ...asked])
    return organization === 'acme' ? 'added' : 'waiting'
  }
  const organizations = ['acme', 'globex', 'by-hand'].map((id) =>
    Object({ id, schedule: id === 'by-hand' ? undefined : SCHEDULE }),
  )
  const cancels = untilMs === undefined ? [] : [['cancel:acme', JSON.stringify({ jobs: [], untilMs })] as const]
  const sources = { mirror: { listLastRuns: async () => [] }, values: { list: async () => new Map(cancels) } }
  const found = await requestMissedRuns({
    ...{ queues: { request }, ...sources, organizations },
    ...{ pauses: new Map(), occasion: 'time', nowMs: NOW_MS, askedAtMs: NOW_MS },
  })

  expect(found).toEqual(requested.filter((id) => id === 'acme'))
  expect(requests).toEqual(requested.map((id) => [id, 'catch-up', { dueMs: DUE_MS, nowMs: NOW_MS, askedAtMs: NOW_MS }]))
})

function completeAt(asOfMs: number): LastRun {
  return { organization: 'acme', startedAtMs: asOfMs, status: 'complete', errorCode: undefined, readAsOfMs: asOfMs }
}

const START_MS = Date.parse('2026-01-11T00:59:30Z')

describe('a worker that watches due times', () => {
  beforeEach(() => void vi.useFakeTimers({ now: START_MS }))
  afterEach(() => void vi.useRealTimers())

  test('puts the job of a night into the queue when its moment comes, and once', async () => {
    const { puts } = watching({ acme: SCHEDULE })
    await vi.advanceTimersByTimeAsync(29_000)
    const before = [...puts]
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS)

    expect(before).toEqual([])
    expect(puts).toEqual([`sync acme ${DUE_MS}`])
  })

  test('puts quick runs there, but none that is late', async () => {
    const { puts, queue } = watching({ acme: { ...SCHEDULE, cron: '0 3 1 1 *', quick: '*/5 * * * *' } })
    await vi.advanceTimersByTimeAsync(6 * MINUTE_MS)
    queue.isAway = true
    await vi.advanceTimersByTimeAsync(7 * MINUTE_MS)
    queue.isAway = false
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS)

    const atMinutes = [0, 5, 15].map((minutes) => `quick acme ${DUE_MS + minutes * MINUTE_MS}`)
    expect(puts).toEqual(atMinutes)
  })

  test('asks again where the queue was away, and for the latest due time after a sleep', async () => {
    const { puts, queue } = watching({ acme: { ...SCHEDULE, cron: '*/10 * * * *' } })
    queue.isAway = true
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS)
    queue.isAway = false
    await vi.advanceTimersByTimeAsync(1000)
    // No timer fires while the machine sleeps.
    vi.setSystemTime(DUE_MS + 55 * MINUTE_MS)
    await vi.advanceTimersByTimeAsync(1000)

    expect(puts).toEqual([`sync acme ${DUE_MS}`, `sync acme ${DUE_MS + 50 * MINUTE_MS}`])
  })

  test('follows another configuration, and a clock that is set back', async () => {
    const { puts, change } = watching({ acme: SCHEDULE })
    change({ acme: { ...SCHEDULE, cron: '5 2 * * *' }, globex: { ...SCHEDULE, cron: '10 2 * * *' } })
    await vi.advanceTimersByTimeAsync(11 * MINUTE_MS)
    vi.setSystemTime(DUE_MS + 9 * MINUTE_MS)
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS)

    const later = (minutes: number) => DUE_MS + minutes * MINUTE_MS
    expect(puts).toEqual([`sync acme ${later(5)}`, `sync globex ${later(10)}`, `sync globex ${later(10)}`])
  })
})

test('an organization has one job at a time, also while it waits for the service, and one for each due time, however many ask', async () => {
  const { mirror, queue } = aJobsWorkplace([anAwayOrganization()])
  const { backend, queues } = await someQueues(queue, mirror)
  const ask = (organization: string, dueMs: number, trigger: 'schedule' | 'manual' = 'schedule') =>
    queues.request('sync', organization, trigger, { dueMs })
  const open = () => queues.sync.getJobCountByTypes('waiting', 'delayed', 'active')
  await ask('globex', DUE_MS)
  await ask('globex', DUE_MS)
  for (let wish = 1; wish <= 6; wish += 1) await ask('acme', wish, wish % 2 === 0 ? 'schedule' : 'manual')
  const before = await open()
  void takeNext(backend, async (job, token) => {
    if (job.data.organization === 'globex') return
    await job.moveToDelayed(Date.now() + HOUR_MS, token)
    throw new DelayedError()
  })
  await expect.poll(() => queues.sync.getJobCounts('completed', 'delayed')).toEqual({ completed: 1, delayed: 1 })
  await ask('globex', DUE_MS)
  const later = [await ask('acme', 7), await ask('acme', 8)]

  expect(before).toBe(2)
  expect(await open()).toBe(1)
  expect(later).toEqual(['delayed', 'delayed'])
  expect(await queues.sync.getDelayed()).toMatchObject([{ attemptsMade: 0, data: { organization: 'acme' } }])
  expect(await ask('globex', DUE_MS + 1)).toBe('added')
})

type Schedules = Record<string, NonNullable<Organization['schedule']>>

function watching(schedules: Schedules) {
  const puts: string[] = []
  const queue = { isAway: false }
  const request = async (name: string, organization: string, _trigger: string, asked?: { dueMs?: number }) => {
    if (queue.isAway) throw new Error('Connection is closed.')
    puts.push(`${name} ${organization} ${asked?.dueMs}`)
    return 'added'
  }
  const configured = (wanted: Schedules) => ({
    current: Object({ organizations: Object.entries(wanted).map(([id, schedule]) => ({ id, schedule })) }),
  })
  const config = configured(schedules)
  repeatedly(1000, dueTimesLook({ config, queues: { request }, now: Date.now }))
  return { puts, queue, change: (wanted: Schedules) => Object.assign(config, configured(wanted)) }
}
