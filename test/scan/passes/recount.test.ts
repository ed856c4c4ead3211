import { expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { Findings } from '../../../src/scan/findings.ts'
import { Recount } from '../../../src/scan/passes/recount.ts'
import { TieRegion } from '../../../src/scan/proof/tie-region.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { prepareWindow, type ReadWindow } from '../../../src/scan/window/read-window.ts'
import type { Row, Window } from '../../../src/scan/window/window.ts'

test.each([
  ['few rows, as a customer may have come just as another left', { size: 10, total: 60, tie: 40, totalAtStart: 60 }],
  ['many rows, if the total changed meanwhile', { size: 100, total: 3000, tie: 1100, totalAtStart: 3001 }],
])('a customer who was read and has left stands in for no other in a count of %s', (_, { totalAtStart, ...list }) => {
  const before = aList({ ...list, inTie: 'left' })
  const now = aList({ ...list, inTie: 'came' })
  const region = crossed({ ...list, totalAtStart }, before)
  expect(region.unread).toBe(0)

  const ids = count(region, list, () => now)

  expect(region.isCounted).toBe(true)
  expect(ids).toContain('came')
})

test('a count of many rows keeps what was read before, if the total stood still', () => {
  const list = { size: 100, total: 3000, tie: 1100 }
  const rows = aList({ ...list, inTie: 'stays' })
  const region = crossed({ ...list, totalAtStart: list.total }, rows)

  const ids = count(region, list, () => rows)

  expect(region.isCounted).toBe(true)
  expect(ids.size).toBeLessThanOrEqual(2 * list.size)
})

test('a region that moves once all of its rows were read is not counted', () => {
  const list = { size: 10, total: 60, tie: 40 }
  const rows = aList({ ...list, inTie: 'stays' })
  const region = crossed({ ...list, totalAtStart: list.total }, rows)

  count(region, list, () => (region.unread > 0 ? rows : rows.slice(1)))

  expect(region.isCounted).toBe(false)
})

test.each([1, 2, 3])(
  'a region whose beginning stood where it was only at request %i, and at the end, is longer than it seemed, and not counted',
  (request) => {
    const list = { size: 10, total: 60, tie: 40 }
    const rows = aList({ ...list, inTie: 'stays' })
    const moved = rows.slice(1)
    const region = crossed({ ...list, totalAtStart: list.total }, rows, moved)

    count(region, list, (asked, { page }) => (page === 1 && (asked === request || region.unread <= 0) ? rows : moved))

    expect(region.isCounted).toBe(false)
  },
)

test('the ends of a region are read one after another, and the windows inside it at once', () => {
  const list = { size: 10, total: 60, tie: 40 }
  const rows = aList({ ...list, inTie: 'stays' })
  const region = crossed({ ...list, totalAtStart: list.total }, rows)
  const recount = aRecount(region, list)
  const together: number[] = []

  while (!recount.over) {
    const windows = [...nextOf(recount)]
    together.push(windows.length)
    for (const window of windows) recount.take(window, read(window, rows))
  }

  expect(together).toEqual([1, 1, 1, expect.any(Number), 1, 1])
  expect(together[3]).toBeGreaterThan(4)
  expect(region.isCounted).toBe(true)
})

/** The rows of the list at a request, counted from 1. */
type RowsAt = (asked: number, window: Window) => readonly Row[]
type List = { size: number; total: number; tie: number }

/** Five rows, then a tie of rows of one creation time, one of which has this id, then others. */
function aList({ total, tie, inTie }: List & { inTie: string }): Row[] {
  return Array.from({ length: total }, (_, position) => {
    const isInTie = position >= 5 && position < 5 + tie
    const id = position === 4 + tie / 2 ? inTie : String((position * 7919) % 10_007)
    return { id, createdAt: new Date(1_700_000_000_000 + 1000 * (isInTie ? 5 : position)).toISOString() }
  })
}

/** The tie as a chain of pages has crossed it, the first of which may have seen other rows than those behind it. */
function crossed({ size, tie, totalAtStart }: List & { totalAtStart: number }, rows: readonly Row[], behind = rows) {
  const pageAt = (page: number) => read({ page, size }, behind)
  const region = new TieRegion(read({ page: 1, size }, rows, totalAtStart), pageAt(2))
  for (let page = 3; size * (page - 1) < 5 + tie; page += 1) region.extend(pageAt(page))
  region.close()
  return region
}

/** Counts the rows of the region in the list as it is at each request, and returns the ids that were read. */
function count(region: TieRegion, list: List, rowsAt: RowsAt): Set<unknown> {
  const recount = aRecount(region, list)
  const ids = new Set<unknown>()
  let asked = 0
  for (const window of nextOf(recount)) {
    const answer = read(window, rowsAt((asked += 1), window))
    for (const key of answer.keys) ids.add(key)
    recount.take(window, answer)
  }
  expect(recount.over).toBe(true)
  return ids
}

function aRecount(region: TieRegion, { size, total }: List): Recount {
  const findings = new Findings(size)
  findings.total = total
  return new Recount(region, findings)
}

/** The windows to ask for, until one must arrive first. */
function* nextOf(recount: Recount): Generator<Window> {
  for (let window = recount.next(); window !== undefined; window = recount.next()) yield window
}

function read(window: Window, rows: readonly Row[], total = rows.length): ReadWindow {
  const start = window.size * (window.page - 1)
  const shown = rows.slice(start, start + window.size)
  return prepareWindow({ window, rows: shown, total, perPage: window.size, beyondEnd: false }, new Coverage(seenIds()))
}
