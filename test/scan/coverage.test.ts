import { expect, test } from 'vitest'
import { Coverage } from '../../src/scan/coverage.ts'
import { seenIds } from '../../src/scan/seen.ts'
import { prepareWindow } from '../../src/scan/window/read-window.ts'

/** Answers in a row, all of known rows, after which the service has no others to show. */
const MANY = 200

type Told = { total?: number; later?: number; passes?: number; isResumed?: boolean; found?: number }

test.each<[string, Told, boolean]>([
  ['many rows are lacking', { total: 1000 }, true],
  ['hardly a row is lacking', { total: 103 }, false],
  ['the total changed on the way', { total: 1000, later: 1001 }, false],
  ['a row was found on the way', { total: 1000, found: 1 }, false],
  ['the list is read for the second time', { total: 1000, passes: 2 }, false],
  ['windows from before an interruption count', { total: 1000, isResumed: true }, false],
])('a service that answers known rows again and again, where %s, has no others: %s', (_, told, isBarren) => {
  const { total = 1000, later = total, passes = 1, isResumed = false, found = 0 } = told
  const coverage = new Coverage(seenIds())
  for (let pass = 1; pass <= passes; pass += 1) {
    coverage.startPass()
    add(coverage, some(1, 100), total)
  }
  if (isResumed) coverage.resume()
  for (let answer = 1; answer < MANY; answer += 1) {
    const rows = answer === 2 ? some(100, 100 + found) : some(1, 1)
    add(coverage, rows, answer < MANY / 2 ? total : later)
  }
  expect(coverage.isBarren).toBe(false)
  add(coverage, some(1, 1), later)

  expect(coverage.isBarren).toBe(isBarren)
})

function add(coverage: Coverage, rows: readonly number[], total: number): void {
  coverage.add(prepareWindow({ window: { page: 1, size: 101 }, rows, total, perPage: 101, beyondEnd: false }, coverage))
}

function some(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at)
}
