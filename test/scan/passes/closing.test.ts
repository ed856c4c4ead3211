import { beforeEach, describe, expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { Findings } from '../../../src/scan/findings.ts'
import type { PassFailure } from '../../../src/scan/pass.ts'
import { Closing } from '../../../src/scan/passes/closing.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { prepareWindow, type ReadWindow } from '../../../src/scan/window/read-window.ts'
import type { Window } from '../../../src/scan/window/window.ts'

const SIZE = 10
const LIST = Array.from({ length: 200 }, (_, place) => place + 1)

let findings: Findings
let coverage: Coverage

beforeEach(() => {
  findings = new Findings(SIZE)
  coverage = new Coverage(seenIds())
})

test('both ends of a list at rest are read in three windows', () => {
  const { flaws, windows } = closed(() => LIST)

  expect(flaws).toEqual([])
  expect(windows.map(({ page }) => page)).toEqual([1, 20, 23])
})

describe('where others have come', () => {
  test.each([1, 9, 10, 11, 25])('%i to the top, it is read down to the rows known there', (count) => {
    const { flaws, seen } = closed(() => [...someNew(count), ...LIST])

    expect(flaws).toEqual([])
    expect([...seen]).toEqual(expect.arrayContaining([...someNew(count), 1]))
  })

  test.each([1, 9, 10, 11, 25])('%i to the end, it is read up to the rows known there', (count) => {
    const { flaws, seen } = closed(() => [...LIST, ...someNew(count)])

    expect(flaws).toEqual([])
    expect([...seen]).toEqual(expect.arrayContaining([...someNew(count), 200]))
  })

  test('to an end faster than it can be read, nothing is proven', () => {
    expect(closed(() => [...someNew(120), ...LIST]).flaws).toContain('not-quiet')
    expect(closed(() => [...LIST, ...someNew(120)]).flaws).toContain('not-quiet')
  })
})

test('where rows may stand between two windows at an end, nothing is proven', () => {
  const { flaws, windows } = closed((asked) => (asked === 1 ? [...someNew(40), ...LIST] : [...someNew(5), ...LIST]))

  expect(windows.length).toBeGreaterThan(2)
  expect(flaws).toEqual(['not-quiet'])
})

test.each([1, 5, 10, 12, 15])('where the last %i have left, the end is looked for nearer to the beginning', (count) => {
  const left = LIST.slice(0, -count)
  const { flaws, seen } = closed(() => left)

  expect(flaws).toEqual([])
  expect(seen).toContain(left.at(-1))
})

test('where so many leave the end while it is read that no row stands behind what was read, it has been read', () => {
  const { flaws, windows } = closed((asked) => (asked < 3 ? [...LIST, ...someNew(20)] : LIST.slice(0, -5)))

  expect(flaws).toEqual([])
  expect(windows).toHaveLength(3)
})

test('where all those known at an end have left, nothing is proven', () => {
  expect(closed(() => LIST.slice(0, -60)).flaws).toEqual(['not-quiet'])
  expect(closed(() => LIST.slice(60)).flaws).toEqual(['not-quiet'])
})

test.each([
  ['hole', 'hole'],
  ['flaky', 'hole'],
  ['page-mismatch', 'page-mismatch'],
  ['cached-answer', 'cached-answer'],
] as const)('where an end cannot be read again (%s), nothing is proven', (failure, flaw) => {
  for (const end of ['top', 'end'] as const) {
    const { flaws } = closed((_, { page }) => ((page === 1) === (end === 'top') ? failure : LIST))

    expect(flaws).toEqual([flaw])
  }
})

test('an end that a cache has answered is asked for once more, in another size', () => {
  const { flaws, windows } = closed((asked) => (asked === 1 ? 'cached-answer' : LIST))

  expect(flaws).toEqual([])
  expect(windows.map(({ page, size }) => `${page}/${size}`)).toEqual(['1/10', '1/9', '20/10', '23/9'])
})

/** New rows have numbers below 0. */
function someNew(count: number): number[] {
  return Array.from({ length: count }, (_, place) => place - count)
}

/** Reads both ends of the list again, as it is at each request, which are counted from 1. */
function closed(listAt: (asked: number, window: Window) => readonly number[] | PassFailure) {
  const ends = {
    first: [read({ page: 1, size: SIZE }, LIST)],
    lastTwo: [19, 20].map((page) => read({ page, size: SIZE }, LIST)),
  }
  const closing = new Closing(findings, ends)
  const windows: Window[] = []
  const seen = new Set<unknown>()
  while (!closing.over) {
    const window = closing.next()
    if (window === undefined) throw new Error('An end is not read, and nothing is asked for.')
    windows.push(window)
    const answer = listAt(windows.length, window)
    if (typeof answer === 'string') closing.failed(window, answer)
    else {
      const again = read(window, answer)
      for (const key of again.keys) seen.add(key)
      closing.take(window, again)
    }
  }
  return { flaws: closing.flaws, windows, seen }
}

function read(window: Window, list: readonly number[]): ReadWindow {
  const start = window.size * (window.page - 1)
  const rows = list.slice(start, start + window.size)
  const answer = { window, rows, total: list.length, perPage: window.size, beyondEnd: false }
  const prepared = prepareWindow(answer, coverage)
  findings.learn(prepared)
  coverage.add(prepared)
  return prepared
}
