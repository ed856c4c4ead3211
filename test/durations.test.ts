import { expect, test } from 'vitest'
import { durationMs, durationText } from '../src/time/durations.ts'

test.each([
  ['500ms', 500],
  ['30s', 30_000],
  ['15m', 900_000],
  ['90m', 5_400_000],
  ['6h', 21_600_000],
  ['1d', 86_400_000],
])('%s is read as a duration, and written so again', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
  expect(durationText(ms)).toBe(text)
})

test.each(['', '5', 's', '-1s', '1 s', '1w', '1h30m', '0x10s'])('%j is no duration', (text) => {
  expect(durationMs(text)).toBeUndefined()
})

test('a fraction is read to the millisecond', () => {
  expect(durationMs('1.5h')).toBe(5_400_000)
  expect(durationMs('0.001s')).toBe(1)
})
