import { expect, test } from 'vitest'
import { createClock, isCorrectable, isNotable } from '../../../src/source/clock/clock.ts'

const NOW_MS = 1_700_000_000_000

function answerAt(dateMs: number, headers: Record<string, string> = {}) {
  return {
    headers: { date: new Date(dateMs).toUTCString(), ...headers },
    sentMs: NOW_MS - 100,
    answeredMs: NOW_MS + 100,
  }
}

test('the offset is unknown until an answer has a date', () => {
  const clock = createClock()
  clock.observe({ headers: {}, sentMs: 0, answeredMs: 0 })
  clock.observe({ headers: { date: 'noon' }, sentMs: 0, answeredMs: 0 })
  clock.observe({ headers: { date: 'Mon, 41 Jan 2024 12:00:00 GMT' }, sentMs: 0, answeredMs: 0 })
  expect(clock.offsetMs).toBeUndefined()
  expect(clock.explains(0)).toBe(false)
  expect(clock.adopt()).toBeUndefined()
})

test('the offset is learned to about a second', () => {
  const clock = createClock()
  clock.observe(answerAt(NOW_MS + 300_000))
  expect(clock.offsetMs).toBeGreaterThanOrEqual(299_000)
  expect(clock.offsetMs).toBeLessThanOrEqual(301_000)
})

test.each([
  [3000, false],
  [-4000, false],
  [7000, true],
  [-7000, true],
])('an offset of %i ms explains a refusal: %s', (offsetMs, expected) => {
  const clock = createClock()
  clock.observe(answerAt(NOW_MS + offsetMs))
  expect(clock.explains(0)).toBe(expected)
})

test('an adopted offset no longer explains a refusal', () => {
  const clock = createClock()
  clock.observe(answerAt(NOW_MS + 300_000))
  expect(clock.correctionMs).toBe(0)
  expect(clock.adopt()).toBe(clock.offsetMs)
  expect(clock.correctionMs).toBe(clock.offsetMs)
  expect(clock.explains(clock.correctionMs)).toBe(false)
  expect(clock.adopt()).toBeUndefined()
})

test('a request signed before the correction is still explained by the offset', () => {
  const clock = createClock()
  clock.observe(answerAt(NOW_MS + 300_000))
  clock.adopt()
  expect(clock.explains(0)).toBe(true)
})

test('an answer with an age teaches no clock, not even where it was asked for the time', () => {
  const clock = createClock()
  clock.anchor(answerAt(NOW_MS + 3_600_000, { age: '1' }))
  expect(clock.offsetMs).toBeUndefined()
  clock.anchor(answerAt(NOW_MS + 3_600_000, { age: '0' }))
  expect(clock.offsetMs).toBeGreaterThan(3_599_000)
})

test('more than five seconds are an offset, and more than a day is no clock that is signed for', () => {
  expect([5000, 5001, -5000, -5001].map(isNotable)).toEqual([false, true, false, true])
  expect([86_400_000, 86_400_001, -86_400_000].map(isCorrectable)).toEqual([true, false, true])
})

test('the date of a cached answer does not count as current', () => {
  const clock = createClock()
  clock.observe(answerAt(NOW_MS - 900_000, { age: '900' }))
  expect(clock.offsetMs).toBeUndefined()
})

test('answers with the same date are each compared with their own moment, and another date is read anew', () => {
  const clock = createClock()
  clock.observe(answerAt(NOW_MS))
  const first = clock.offsetMs ?? Number.NaN
  clock.observe({ ...answerAt(NOW_MS), sentMs: NOW_MS + 500, answeredMs: NOW_MS + 700 })
  expect(clock.offsetMs).toBe(first - 600)
  clock.observe({ ...answerAt(NOW_MS), headers: { date: 'noon' } })
  expect(clock.offsetMs).toBe(first - 600)
  clock.observe(answerAt(NOW_MS + 60_000))
  expect(clock.offsetMs).toBe(first + 60_000)
})
