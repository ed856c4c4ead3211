import fc from 'fast-check'
import { expect, test } from 'vitest'
import { overlappingPlan, windowAfter } from '../../../src/scan/plan/planner.ts'
import { explainReason, isReason, REASONS } from '../../../src/scan/reasons.ts'
import { endOf, startOf } from '../../../src/scan/window/window.ts'
import { seeds } from '../../support/seeds.ts'

test('every window of a plan overlaps the one before and reaches beyond it, for any length and size from 11 up', () => {
  const lengths = fc.record({ total: fc.nat({ max: 20_000 }), largest: fc.integer({ min: 11, max: 100 }) })
  fc.assert(
    fc.property(lengths, ({ total, largest }) => {
      const plan = overlappingPlan(total, 2, largest, 5000)
      expect(plan[0]).toEqual({ page: 1, size: largest })
      for (const [place, window] of plan.entries()) {
        const before = plan[place - 1]
        if (before === undefined) continue
        expect(startOf(window)).toBeLessThan(endOf(before))
        expect(endOf(window)).toBeGreaterThan(endOf(before))
      }
      expect(Math.max(...plan.map(endOf))).toBeGreaterThan(total)
    }),
    { seed: 1, numRuns: seeds(300) },
  )
})

test('a plan for up to 200,000 rows costs at most 1.16 requests for a hundred rows and two more', () => {
  const ends = overlappingPlan(200_000, 2, 100, 5000).map(endOf)
  for (let total = 0; total <= 200_000; total += 37) {
    const windows = ends.findIndex((end) => end > total) + 1
    expect(windows).toBeLessThanOrEqual(Math.ceil(total / 100) * 1.16 + 2)
  }
})

test.each([1, 2])('pages of at most %i rows cannot overlap and reach on', (largest) => {
  expect(windowAfter(2 * largest, 2, largest)).toBeUndefined()
})

test('every reason has an explanation in one sentence', () => {
  for (const reason of REASONS) expect(explainReason(reason)).toMatch(/^[A-Z].*\.$/)
  expect(isReason('link-broken')).toBe(true)
  expect(isReason('toString')).toBe(false)
})
