import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readingWords } from '../../../src/cli/output/live-lines.ts'

const READING = { customers: 1200, readBefore: 0, total: 2500, pages: 12, elapsedMs: 4000 }

test.each([
  ['all of it', {}, '1,200 of 2,500 customers · 48 % · 300/s · 5 s left'],
  ['no rate before a second has passed', { elapsedMs: 999 }, '1,200 of 2,500 customers · 48 %'],
  ['slow ones by the minute', { elapsedMs: 600_000 }, '1,200 of 2,500 customers · 48 % · 120/min · 10 min 50 s left'],
  ['a list of unknown length', { total: undefined }, '1,200 customers · 300/s'],
  ['resumed', { readBefore: 800 }, 'resumed, 2,000 of 2,500 customers (800 read before) · 80 % · 300/s · 2 s left'],
  ['nothing yet', { customers: 0 }, '0 of 2,500 customers · 0 %'],
  ['nearly all', { customers: 2499 }, '2,499 of 2,500 customers · 99 % · 625/s · 1 s left'],
  ['read, and read again', { customers: 2500, pages: 31 }, '2,500 of 2,500 customers · 100 % · page 31, making sure'],
  ['more than there are', { customers: 2600 }, '2,600 of 2,500 customers · 100 % · page 12, making sure'],
  ['an empty list', { customers: 0, total: 0 }, '0 of 0 customers'],
])('%s', (_, changes, words) => {
  expect(readingWords({ ...READING, ...changes })).toBe(words)
})

test('the short form of a large list fits beside a name on a narrow terminal', () => {
  const words = readingWords({ ...READING, customers: 1_234_567, total: 2_345_678, elapsedMs: 1e6 }, { short: true })

  expect(words).toBe('1,234,567/2,345,678 · 52 % · 1,235/s · 15 min 1 s left')
})

test('for any numbers, it shows at most 100 %, no negative time, and only numbers', () => {
  const natural = fc.nat(10_000_000)
  fc.assert(
    fc.property(
      fc.record({
        customers: natural,
        readBefore: natural,
        total: fc.option(natural, { nil: undefined }),
        pages: natural,
        elapsedMs: natural,
      }),
      (reading) => {
        const words = readingWords(reading)
        const [, percent = '0'] = /(\d+) %/.exec(words) ?? []

        expect(Number(percent)).toBeLessThanOrEqual(100)
        expect(words).not.toMatch(/NaN|Infinity|-\d/)
      },
    ),
  )
})
