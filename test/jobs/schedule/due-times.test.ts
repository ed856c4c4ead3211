import { expect, test } from 'vitest'
import { comingRuns, nextDueMs, previousDueMs, startDelayMs } from '../../../jobs/schedule/due-times.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../support/builders.ts'
import { seeds } from '../../support/seeds.ts'

const NIGHTLY = { cron: '0 2 * * *', timezone: 'Europe/Paris', spreadMs: 0 }

test.each([
  ['at the very moment', '2026-01-11T01:00Z', '0 2 * * *', ['2026-01-12T01:00Z', '2026-01-13T01:00Z']],
  ['over the day without 02:30', '2026-03-28T12:00Z', '30 2 * * *', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
  ['over the day with two', '2026-10-24T12:00Z', '30 2 * * *', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
  ['of each hour without one', '2026-03-29T00:45Z', '30 * * * *', ['2026-03-29T01:30Z', '2026-03-29T02:30Z']],
  ['of each hour, one of them twice', '2026-10-25T00:00Z', '30 * * * *', ['2026-10-25T00:30Z', '2026-10-25T01:30Z']],
  ['on Sundays', '2026-01-10T12:00Z', '0 2 * * 0,7', ['2026-01-11T01:00Z', '2026-01-18T01:00Z']],
  ['on Sundays by name', '2026-01-10T12:00Z', '0,0 2 * * SUN,0', ['2026-01-11T01:00Z', '2026-01-18T01:00Z']],
])('the next runs %s', (_when, now, cron, expected) => {
  const runs = comingRuns('acme', { ...NIGHTLY, cron }, Date.parse(now), 2)

  expect(runs.map((atMs) => new Date(atMs).toISOString().replace(':00.000', ''))).toEqual(expected)
})

test('of a day that comes every four years, as many runs are told as the calendar has', () => {
  expect(comingRuns('acme', { ...NIGHTLY, cron: '0 0 29 2 *' }, Date.UTC(2026, 0, 1), 366).length).toBeGreaterThan(99)
})

test.each([
  [NIGHTLY.cron, 600_000, 600_000, 80],
  ['* * * * *', DAY_MS, MINUTE_MS, 40],
  ['*/7 * * * *', DAY_MS, 4 * MINUTE_MS, 60],
  ['0,50 3,4 * * *', DAY_MS, 10 * MINUTE_MS, 80],
  ['0 2,23 * * 1-5', DAY_MS, 3 * HOUR_MS, 80],
  ['0 2 * * 0', DAY_MS, DAY_MS, 80],
])('by %s, spread over %i ms, each organization has a moment of its own before the next one', (...row) => {
  const [cron, spreadMs, leastGapMs, different] = row
  const ids = Array.from({ length: 100 }, (_, index) => `organization-${index}`)
  const delaysOf = () => ids.map((id) => startDelayMs(id, { cron, spreadMs }))
  const delays = delaysOf()

  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...delays)).toBeLessThan(leastGapMs)
  expect(Math.max(...delays)).toBeGreaterThan(leastGapMs * 0.9)
  expect(new Set(delays).size).toBeGreaterThan(different)
  expect(delaysOf()).toEqual(delays)
})

const CRONS = ['30 2 * * *', '0,30 1-3 * * *', '*/7 * * * *', '15 */2 * * 1-5', '0 0 29 2 *', '5 23 31 * 0']

test('the moment before and the one after are those of the same line in any zone at any time', () => {
  const zones = Intl.supportedValuesOf('timeZone')
  for (let n = 0; n < seeds(180, { least: 12, every: 12 }); n += 1) {
    const [cron = '', timezone = ''] = [CRONS[n % CRONS.length], zones[(n * 41) % zones.length]]
    const [id, schedule] = [`organization-${n}`, { cron, timezone, spreadMs: (n % 2) * DAY_MS }]
    const nowMs = Date.UTC(2012 + (n % 24), (n * 5) % 12, n, n, n, n, n)
    const [lastMs, nextMs] = [previousDueMs(id, schedule, nowMs), nextDueMs(id, schedule, nowMs)]

    expect(lastMs).toBeLessThanOrEqual(nowMs)
    expect(nextMs).toBeGreaterThan(nowMs)
    expect(nextDueMs(id, schedule, lastMs)).toBe(nextMs)
    expect(previousDueMs(id, schedule, nextMs - 1)).toBe(lastMs)
    expect(previousDueMs(id, schedule, nextMs)).toBe(nextMs)
  }
})
