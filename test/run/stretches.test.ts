import { expect, test } from 'vitest'
import { LONG_PAUSE_MS, Stretches, UNUSUAL } from '../../src/run/read-list.ts'

function numbersAfter(...pausesMs: number[]): number[] {
  let nowMs = 5
  const stretches = new Stretches(() => nowMs)
  return pausesMs.map((passedMs) => {
    nowMs += passedMs
    return stretches.arrived()
  })
}

test('a stretch ends with a pause between two answers that is longer than a minute', () => {
  const numbers = numbersAfter(0, 1000, LONG_PAUSE_MS - 1000, 10, LONG_PAUSE_MS * 20, 10)

  expect(numbers).toEqual([1, 1, 1, 1, 2, 2])
  expect(numbersAfter(100, 100, LONG_PAUSE_MS + 1)).toEqual([1, 1, 2])
})

test('where each answer takes minutes to come, a pause that is not much longer ends no stretch', () => {
  const usualMs = 2 * LONG_PAUSE_MS

  expect(numbersAfter(1, ...Array.from({ length: 3 }, () => usualMs), 5 * usualMs).slice(1)).toEqual([2, 2, 2, 2])
  expect(numbersAfter(usualMs, usualMs, UNUSUAL * usualMs + 1)).toEqual([2, 2, 3])
})
