import { describe, expect, test } from 'vitest'
import { conclude, type QuickEvidence } from '../../src/quick/conclusion.ts'
import { cutFrom } from '../../src/quick/cut.ts'
import { compare } from '../../src/quick/gaps.ts'
import type { Row, Window } from '../../src/scan/window.ts'

/** A record whose id cannot be read. */
const NAMELESS = { id: undefined, createdAt: undefined }

/** Windows, and the row numbers that they showed. */
type Shown = { window: Window; rows: readonly (Row | number)[] }

test.each([
  ['a row that was seen to leave', 'no change alters the order', { orderStays: true, pending: [] }, [5]],
  ['none', 'a change may alter the order', { orderStays: false, pending: [] }, []],
  ['no row but this one', 'an earlier run missed another', { orderStays: true, pending: [99] }, [5]],
])('%s is gone without a search where %s', (_row, _why, evidence, certain) => {
  const conclusion = concluded([{ window: { page: 1, size: 10 }, rows: [1, 2, 3, 4, 6, 7, 8] }], {
    listed: 8,
    ...evidence,
  })

  expect(conclusion).toMatchObject({ gone: [5, ...evidence.pending], certain })
})

describe.each(['in the order of the list', 'in another order'] as const)('pages that arrived %s', (arrived) => {
  const inOrder = (shown: Shown[]) => (arrived === 'in another order' ? shown.toReversed() : shown)

  test('show no row to be gone where another was met twice: then one that is listed was not met at all', () => {
    const shown = inOrder([
      { window: { page: 1, size: 5 }, rows: [1, 2, 4, 5, 6] },
      { window: { page: 2, size: 5 }, rows: [6, 7, 8, 9] },
    ])

    expect(concluded(shown, { listed: 9 })).toMatchObject({ gone: [], pending: [3] })
  })

  test('show a row to be gone where another is on two that overlap', () => {
    const shown = inOrder([
      { window: { page: 1, size: 5 }, rows: [1, 2, 4, 5, 6] },
      { window: { page: 2, size: 4 }, rows: [6, 7, 8, 9] },
    ])

    expect(concluded(shown, { listed: 9 })).toMatchObject({ gone: [3], pending: [] })
  })
})

test.each([
  ['shows the last row before them and the end of the list', [5, 101, 102], [6, 7, 8], false],
  ['shows the end of the list, and no row that kept its place', [101, 102, 103], [], true],
])('the last rows are gone where one page %s', (_, rows, gone, isAnyUnmet) => {
  const shown = [
    { window: { page: 1, size: 5 }, rows: [1, 2, 3, 4, 5] },
    { window: rows[0] === 5 ? { page: 2, size: 4 } : { page: 2, size: 5 }, rows },
  ]

  expect(concluded(shown, { listed: 8 })).toMatchObject({ gone, isAnyUnmet })
})

test.each([
  ['in its place', [1, 2, NAMELESS, 4, 5], []],
  ['elsewhere', [1, NAMELESS, 2, 4, 5], [3]],
])('a row is not gone where a record that may be any customer stands %s', (_, rows, gone) => {
  expect(concluded([{ window: { page: 1, size: 10 }, rows }], { listed: 5 }).gone).toEqual(gone)
})

test('rows that no page shows, where two pages overlap, are expected there and not at the end of the list', () => {
  const shown = [
    { window: { page: 1, size: 5 }, rows: [1, 2, 3, 4, 5] },
    { window: { page: 2, size: 4 }, rows: [101, 8, 9, 10] },
    { window: { page: 3, size: 4 }, rows: [11, 12] },
  ]

  expect(concluded(shown, { listed: 12 })).toMatchObject({
    gone: [],
    isAnyUnmet: true,
    laterOrder: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  })
})

/** What these pages show of a list in which the rows from 1 to `listed` are expected. */
function concluded(
  shown: readonly Shown[],
  {
    listed,
    orderStays = false,
    pending = [],
  }: { listed: number } & Partial<Pick<QuickEvidence, 'orderStays' | 'pending'>>,
) {
  const rowIds = Array.from({ length: listed }, (_, place) => place + 1)
  const expected = { rowIds, placeOf: (rowId: number) => rowIds.indexOf(rowId) }
  const end = Math.max(...shown.map(({ window, rows }) => window.size * (window.page - 1) + rows.length))
  const cuts = shown.map(({ window, rows }) =>
    cutFrom({ window, rows: rows.map(asRow), total: end, perPage: window.size, beyondEnd: false }, expected),
  )
  const comparison = compare(cuts, { end, expected: listed })
  return conclude({ cuts, comparison, expected, isEndKnown: true, size: 10, pending, orderStays })
}

function asRow(row: Row | number): Row {
  return typeof row === 'object' ? row : { id: undefined, createdAt: undefined, rowId: row }
}
