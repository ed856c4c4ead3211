import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs } from '../../src/time/durations.ts'

test('waits before a retry double up to a cap, and spread over all of it', () => {
  const bounds = { firstMs: 30_000, longestMs: 900_000 }
  const longest = [1, 2, 3, 4, 5, 6, 7, 40].map((tries) => backoffMs(tries, 1, bounds))

  expect(longest).toEqual([30_000, 60_000, 120_000, 240_000, 480_000, 900_000, 900_000, 900_000])
  expect(backoffMs(5, 0, bounds)).toBe(0)
  expect(backoffMs(5, 0.5, bounds)).toBe(240_000)
})

test.each([
  [1000, 0, 500],
  [1000, 0.5, 750],
  [60_000, 1, 60_000],
])('at least half of a wait of %d ms at chance %d is %d ms', (firstMs, random, ms) => {
  expect(backoffMs(1, random, { firstMs, longestMs: 60_000, least: 0.5 })).toBe(ms)
})

test('a wait lies between nothing and a bound that doubles up to thirty seconds, however many tries there were', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), fc.double({ min: 0, max: 1, noNaN: true }), (tries, random) => {
      const waitMs = backoffMs(tries, random, { firstMs: 1000, longestMs: 30_000 })
      expect(waitMs).toBeGreaterThanOrEqual(0)
      expect(waitMs).toBeLessThanOrEqual(Math.min(30_000, 1000 * 2 ** (tries - 1)))
    }),
  )
})
