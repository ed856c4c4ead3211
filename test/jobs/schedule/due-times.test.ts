import { expect, test } from 'vitest'
import { comingRuns, localTime, startDelayMs } from '../../../jobs/schedule/due-times.ts'

const NIGHTLY = { cron: '0 2 * * *', timezone: 'Europe/Paris', spreadMs: 0 }

test.each([
  ['at the very moment', '2026-01-11T01:00:00Z', '0 2 * * *', ['2026-01-12T01:00:00Z', '2026-01-13T01:00:00Z']],
  [
    'over the day without a 02:30',
    '2026-03-28T12:00:00Z',
    '30 2 * * *',
    ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z'],
  ],
  [
    'over the day with two of them',
    '2026-10-24T12:00:00Z',
    '30 2 * * *',
    ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z'],
  ],
  ['on Sundays', '2026-01-10T12:00:00Z', '0 2 * * 0,7', ['2026-01-11T01:00:00Z', '2026-01-18T01:00:00Z']],
  ['on Sundays by name', '2026-01-10T12:00:00Z', '0,0 2 * * SUN,0', ['2026-01-11T01:00:00Z', '2026-01-18T01:00:00Z']],
])('the next runs %s', (_when, now, cron, expected) => {
  const runs = comingRuns('acme', { ...NIGHTLY, cron }, Date.parse(now), 2)

  expect(runs.map((atMs) => new Date(atMs).toISOString().replace('.000', ''))).toEqual(expected)
})

test('times are shown in the time zone', () => {
  expect(localTime(Date.parse('2026-07-11T00:00:00Z'), 'Europe/Paris')).toBe('2026-07-11 02:00 GMT+2')
  expect(localTime(Date.parse('2026-07-10T23:05:00Z'), 'America/New_York')).toBe('2026-07-10 19:05 GMT-4')
  expect(localTime(Date.parse('2026-01-11T00:00:00Z'), 'America/St_Johns')).toBe('2026-01-10 20:30 GMT-3:30')
  expect(localTime(Date.parse('2026-01-11T00:00:00Z'), 'Asia/Kathmandu')).toBe('2026-01-11 05:45 GMT+5:45')
  expect(localTime(Date.parse('2026-01-11T00:00:00Z'), 'Etc/UTC')).toBe('2026-01-11 00:00 GMT')
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
