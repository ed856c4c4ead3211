import { expect, test } from 'vitest'
import { areRunsDue, believedMs, daysOfChanges } from '../../../src/store/retention.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 6, 1, 12)

test.each([
  ['that another one confirms is believed', true, '2020-01-01', NOW_MS],
  ['within a month of the day is believed', false, '2026-06-01', NOW_MS],
  ['further ahead of it is not', false, '2025-05-31', Date.UTC(2025, 5, 1) + 30 * DAY_MS],
  ['says nothing without a complete run', false, undefined, 0],
])('a clock %s', (_, isConfirmed, day, expected) => {
  expect(believedMs({ asOfMs: NOW_MS, isConfirmed }, day)).toBe(expected)
})

test.each([
  ['never', undefined, true],
  ['thirty days before', '2026-06-01', true],
  ['twenty-nine days before', '2026-06-02', false],
  ['on the same day', '2026-07-01', false],
  ['on a day that is still to come', '2026-07-02', true],
])('runs that were looked through %s are due: %s', (_, done, expected) => {
  expect(areRunsDue(done, NOW_MS)).toBe(expected)
})

test.each([
  ['the next day', NOW_MS, '2026-07-02'],
  ['sixty days behind the horizon', NOW_MS + 400 * DAY_MS, '2026-08-30'],
])('changes are looked at up to %s', (_, asOfMs, last) => {
  expect(daysOfChanges(NOW_MS, asOfMs)).toEqual({ day: '2026-07-01', last })
})
