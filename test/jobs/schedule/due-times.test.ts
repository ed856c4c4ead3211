import { expect, test } from 'vitest'
import { comingRuns, nextDueMs, previousDueMs, startDelayMs } from '../../../jobs/schedule/due-times.ts'
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

test('organizations start at different moments of the spread, each always at its own', () => {
  const spread = { cron: NIGHTLY.cron, spreadMs: 600_000 }
  const delays = Array.from({ length: 100 }, (_, index) => startDelayMs(`organization-${index}`, spread))

  expect(delays.every((delay) => delay >= 0 && delay < 600_000)).toBe(true)
  expect(new Set(delays).size).toBeGreaterThan(80)
  expect(startDelayMs('organization-7', spread)).toBe(delays[7])
  expect(startDelayMs('acme', NIGHTLY)).toBe(0)
})

test.each([
  ['* * * * *', 60_000],
  ['*/7 * * * *', 4 * 60_000],
  ['0,50 3,4 * * *', 10 * 60_000],
  ['0 2,23 * * 1-5', 3 * 3_600_000],
  ['0 2 * * 0', 86_400_000],
])('a spread of a day leaves %s a start before each next moment', (cron, leastGapMs) => {
  const ids = Array.from({ length: 100 }, (_, index) => `organization-${index}`)
  const delays = ids.map((id) => startDelayMs(id, { cron, spreadMs: 86_400_000 }))

  expect(Math.max(...delays)).toBeLessThan(leastGapMs)
  expect(Math.max(...delays)).toBeGreaterThan(leastGapMs * 0.9)
})

const CRONS = ['30 2 * * *', '0,30 1-3 * * *', '*/7 * * * *', '15 */2 * * 1-5', '0 0 29 2 *', '5 23 31 * 0']

test('the moment before and the one after are those of the same line in any zone at any time', () => {
  const zones = Intl.supportedValuesOf('timeZone')
  for (let n = 0; n < seeds(180, { least: 12, every: 12 }); n += 1) {
    const [cron = '', timezone = ''] = [CRONS[n % CRONS.length], zones[(n * 41) % zones.length]]
    const schedule = { cron, timezone, spreadMs: 0 }
    const nowMs = Date.UTC(2012 + (n % 24), (n * 5) % 12, n, n, n, n, n)
    const [lastMs, nextMs] = [previousDueMs('acme', schedule, nowMs), nextDueMs('acme', schedule, nowMs)]

    expect(lastMs).toBeLessThanOrEqual(nowMs)
    expect(nextMs).toBeGreaterThan(nowMs)
    expect(nextDueMs('acme', schedule, lastMs)).toBe(nextMs)
    expect(previousDueMs('acme', schedule, nextMs - 1)).toBe(lastMs)
    expect(previousDueMs('acme', schedule, nextMs)).toBe(nextMs)
  }
})
