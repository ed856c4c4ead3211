import { DelayedError } from 'bullmq'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { watchDueTimes } from '../../../jobs/schedule/due-runs.ts'
import type { Organization } from '../../../src/config/organization.ts'
import { aJobsWorkplace, someQueues, takeNext } from '../../support/jobs-workplace.ts'
import { organizationAt } from '../../support/workplace.ts'

const START_MS = Date.parse('2026-01-11T00:59:30Z')
const DUE_MS = Date.parse('2026-01-11T01:00:00Z')
const MINUTE_MS = 60_000
const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }
const NIGHTLY = { cron: '0 2 * * *', timezone: 'Europe/Paris', spreadMs: 0 }

describe('a worker that watches due times', () => {
  beforeEach(() => void vi.useFakeTimers({ now: START_MS }))
  afterEach(() => void vi.useRealTimers())

  test('puts the job of a night into the queue when its moment comes, and once', async () => {
    const { puts } = watching({ acme: NIGHTLY })
    await vi.advanceTimersByTimeAsync(29_000)
    const before = [...puts]
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS)

    expect(before).toEqual([])
    expect(puts).toEqual([`sync acme ${DUE_MS}`])
  })

  test('puts quick runs there, but none that is late', async () => {
    const { puts, queue } = watching({ acme: { ...NIGHTLY, cron: '0 3 1 1 *', quick: '*/5 * * * *' } })
    await vi.advanceTimersByTimeAsync(6 * MINUTE_MS)
    queue.isAway = true
    await vi.advanceTimersByTimeAsync(7 * MINUTE_MS)
    queue.isAway = false
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS)

    const atMinutes = [0, 5, 15].map((minutes) => `quick acme ${DUE_MS + minutes * MINUTE_MS}`)
    expect(puts).toEqual(atMinutes)
  })

  test('asks again where the queue was away, and for the latest due time after a sleep', async () => {
    const { puts, queue } = watching({ acme: { ...NIGHTLY, cron: '*/10 * * * *' } })
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
    const { puts, change } = watching({ acme: NIGHTLY })
    change({ acme: { ...NIGHTLY, cron: '5 2 * * *' }, globex: { ...NIGHTLY, cron: '10 2 * * *' } })
    await vi.advanceTimersByTimeAsync(11 * MINUTE_MS)
    vi.setSystemTime(DUE_MS + 9 * MINUTE_MS)
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS)

    const later = (minutes: number) => DUE_MS + minutes * MINUTE_MS
    expect(puts).toEqual([`sync acme ${later(5)}`, `sync globex ${later(10)}`, `sync globex ${later(10)}`])
  })
})

test('the job of a due time is made once, also after it has ended, and however many workers ask', async () => {
  const { mirror, queue } = aJobsWorkplace([organizationAt(AT)])
  const { backend, queues } = await someQueues(queue, mirror)
  const asked = await queues.request('sync', 'acme', 'schedule', { dueMs: DUE_MS })
  const meanwhile = await queues.request('sync', 'acme', 'schedule', { dueMs: DUE_MS })
  await takeNext(backend)
  await expect.poll(() => queues.sync.getCompletedCount()).toBe(1)
  await queues.request('sync', 'acme', 'schedule', { dueMs: DUE_MS })
  const left = await queues.sync.getJobCountByTypes('waiting', 'delayed', 'active')
  const next = await queues.request('sync', 'acme', 'schedule', { dueMs: DUE_MS + 1 })

  expect(meanwhile.id).toBe(asked.id)
  expect(left).toBe(0)
  expect(next).toMatchObject({ added: true })
})

test('twelve requests for one organization are one job, also while it waits for the service', async () => {
  const { mirror, queue } = aJobsWorkplace([organizationAt(AT)])
  const { backend, queues } = await someQueues(queue, mirror)
  for (let wish = 1; wish <= 6; wish += 1)
    await queues.request('sync', 'acme', wish % 2 === 0 ? 'schedule' : 'manual', { dueMs: wish })
  await takeNext(backend, async (job, token) => {
    await job.moveToDelayed(Date.now() + 3_600_000, token)
    throw new DelayedError()
  })
  const later = []
  for (let wish = 7; wish <= 12; wish += 1)
    later.push(await queues.request('sync', 'acme', 'schedule', { dueMs: wish }))
  const [job] = await queues.sync.getDelayed()

  expect(later).toEqual(Array.from({ length: 6 }, () => ({ added: false, state: 'delayed', id: job?.id })))
  expect(await queues.sync.getJobCountByTypes('waiting', 'delayed', 'active')).toBe(1)
  expect(job).toMatchObject({ attemptsMade: 0, data: { organization: 'acme' } })
})

type Schedules = Record<string, NonNullable<Organization['schedule']>>

function watching(schedules: Schedules) {
  const puts: string[] = []
  const queue = { isAway: false }
  const request = async (name: string, organization: string, _trigger: string, asked?: { dueMs?: number }) => {
    if (queue.isAway) throw new Error('Connection is closed.')
    puts.push(`${name} ${organization} ${asked?.dueMs}`)
    return { added: true, state: 'waiting', id: undefined }
  }
  const configured = (wanted: Schedules) => ({
    current: Object({ organizations: Object.entries(wanted).map(([id, schedule]) => ({ id, schedule })) }),
  })
  const config = configured(schedules)
  watchDueTimes({ config, queues: { request }, now: Date.now })
  return { puts, queue, change: (wanted: Schedules) => Object.assign(config, configured(wanted)) }
}
