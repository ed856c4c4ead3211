import fc from 'fast-check'
import { expect, test } from 'vitest'
import { remainingIn, retryAfterMs } from '../../src/source/retry-after.ts'

const NOW_MS = Date.UTC(2024, 0, 1, 12, 0, 0)

test.each([
  ['seconds', '7', 7000],
  ['zero', '0', 1000],
  ['less than a second', '0.2', 1000],
  ['a fraction', '1.5', 1500],
  ['spaces around it', ' 7 ', 7000],
  ['an HTTP date', 'Mon, 01 Jan 2024 12:01:30 GMT', 90_000],
  ['an old HTTP date', 'Monday, 01-Jan-24 12:00:10 GMT', 10_000],
  ['the oldest HTTP date', 'Mon Jan  1 12:00:10 2024', 10_000],
  ['a date just past', 'Mon, 01 Jan 2024 11:59:00 GMT', 1000],
  ['a Unix second by mistake', String(NOW_MS / 1000 + 20), 20_000],
  ['the first number that is a Unix second', '1000000000', 1000],
  ['the last that is none', '999999999', undefined],
  ['a month', String(31 * 86_400), 31 * 86_400_000],
  ['a month and more', String(40 * 86_400), undefined],
  ['a number without end', '9'.repeat(400), undefined],
  ['nonsense', 'soon', undefined],
  ['nonsense that Date.parse would take', 'soon 1', undefined],
  ['a negative number', '-5', undefined],
  ['nothing', '', undefined],
])('Retry-After: %s', (_, value, expected) => {
  expect(retryAfterMs({ 'retry-after': value }, NOW_MS)).toBe(expected)
})

test.each([
  ['a Unix second', String(NOW_MS / 1000 + 30), 30_000],
  ['a Unix millisecond', String(NOW_MS + 30_000), 30_000],
  ['the first number that is a Unix millisecond', '1000000000000', 1000],
  ['seconds from now', '45', 45_000],
  ['a second just past', String(NOW_MS / 1000 - 3), 1000],
  ['nonsense', 'tomorrow', undefined],
])('X-RateLimit-Reset: %s', (_, value, expected) => {
  expect(retryAfterMs({ 'x-ratelimit-reset': value }, NOW_MS)).toBe(expected)
})

test('Retry-After is believed before X-RateLimit-Reset, and the latter when the former is nonsense', () => {
  expect(retryAfterMs({ 'retry-after': '5', 'x-ratelimit-reset': '50' }, NOW_MS)).toBe(5000)
  expect(retryAfterMs({ 'retry-after': 'soon', 'x-ratelimit-reset': '50' }, NOW_MS)).toBe(50_000)
})

test.each([
  ['7', 7],
  ['0', 0],
  ['-1', undefined],
  ['1.5', undefined],
  ['many', undefined],
  ['1234567890', undefined],
  [undefined, undefined],
])('X-RateLimit-Remaining: %s', (value, expected) => {
  expect(remainingIn({ 'x-ratelimit-remaining': value })).toBe(expected)
})

test('whatever the headers hold, the wait is undefined or between a second and a month', () => {
  const value = fc.oneof(
    fc.string(),
    fc.integer().map(String),
    fc.double().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  )
  fc.assert(
    fc.property(value, value, (retryAfter, reset) => {
      const waitMs = retryAfterMs({ 'retry-after': retryAfter, 'x-ratelimit-reset': reset }, NOW_MS)
      if (waitMs === undefined) return
      expect(Number.isInteger(waitMs)).toBe(true)
      expect(waitMs).toBeGreaterThanOrEqual(1000)
      expect(waitMs).toBeLessThanOrEqual(31 * 86_400_000)
    }),
  )
})
