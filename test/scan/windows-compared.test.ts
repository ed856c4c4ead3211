import fc from 'fast-check'
import { expect, test } from 'vitest'
import { prepareWindow, type ReadWindow } from '../../src/scan/window/read-window.ts'
import { orderOfRows, compareRows, type RowOrder } from '../../src/scan/window/row-order.ts'
import { windowFrom } from '../../src/scan/plan/planner.ts'
import { overlapBetween, type Overlap } from '../../src/scan/window/overlap.ts'
import { seenIds } from '../../src/scan/seen.ts'
import { Coverage } from '../../src/scan/coverage.ts'
import { Witnesses, WITNESSES } from '../../src/scan/proof/witness.ts'
import { endOf, rowOf, type Row, type RowOrNumber, type Window } from '../../src/scan/window/window.ts'
import { seeds } from '../support/seeds.ts'

/** Few ids and fewer times, some of them missing, so that rows meet again and times tie. */
const someRows = (most: number) =>
  fc.array(
    fc.record({
      id: fc.option(fc.constantFrom('', 'a', 'ba', 'ca', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'), {
        nil: undefined,
        freq: 15,
      }),
      createdAt: fc.option(fc.constantFrom('2024-01-01T00:00:00Z', '2024-01-01T00:00:01Z', '2024-01-01T00:00:01.5Z'), {
        nil: undefined,
        freq: 15,
      }),
    }),
    { maxLength: most },
  )
const aWindow = fc.record({ rows: someRows(12), page: fc.integer({ min: 1, max: 3 }), total: fc.nat({ max: 2 }) })

type Received = { rows: readonly RowOrNumber[]; page: number; total: number; rowOrder?: RowOrder }

function readFrom({ page, ...answer }: Received, coverage = new Coverage(seenIds())): ReadWindow {
  const read = prepareWindow({ ...answer, window: { page, size: 12 }, perPage: 12, beyondEnd: false }, coverage)
  coverage.add(read)
  return read
}

/** The windows a scan read before two others, and which of those it read first. */
const aPast = fc.record({ before: fc.array(aWindow, { maxLength: 2 }), isRightFirst: fc.boolean() })
type Past = { before: readonly Received[]; isRightFirst: boolean }

function readTogether(
  one: Received,
  other: Received,
  { before, isRightFirst }: Past,
): [left: ReadWindow, right: ReadWindow] {
  const coverage = new Coverage(seenIds())
  for (const window of before) readFrom(window, coverage)
  const early = isRightFirst ? readFrom(other, coverage) : undefined
  const left = readFrom(one, coverage)
  return [left, early ?? readFrom(other, coverage)]
}

/** The window with all fields of each row. */
function inFull(read: ReadWindow) {
  return { ...read, all: read.all.map(rowOf), rows: read.rows.map(rowOf) }
}

/** The overlap by its definition: every row against every row. */
function overlapByDefinition(...windows: readonly [ReadWindow, ReadWindow]): Overlap {
  const [left, right] = [inFull(windows[0]), inFull(windows[1])]
  const shared = right.rows.flatMap((row, index) => {
    const place = left.rows.findLastIndex(({ id }) => id === row.id)
    const before = left.rows[place]
    return before === undefined ? [] : [{ row, before, index, place, moved: right.start + index - left.start - place }]
  })
  const bothCover = left.all.flatMap(({ id }, place) => {
    const at = left.start + place - right.start
    return at >= 0 && at < right.all.length ? [{ id, other: right.all[at]?.id }] : []
  })
  const inPlace = bothCover.every(({ id, other }) => id === other)
  const readable = bothCover.filter(({ id }) => id !== undefined).length
  return {
    shared: shared.length,
    spread: spreadByDefinition(left.rows.length, right.rows.length, shared),
    pulled: Math.max(0, ...shared.map(({ moved }) => -moved)),
    pushed: Math.max(0, ...shared.map(({ moved }) => moved)),
    grown: (right.total ?? left.total ?? 0) - (left.total ?? right.total ?? 0),
    still: shared.length > 0 && left.total === right.total && inPlace && readable === shared.length,
    displaced: shared.some(({ moved }) => farByDefinition(left, right, moved) >= left.window.size / 2),
    reordered: shared.some(({ place }, index) => place < (shared[index - 1]?.place ?? -1)),
    redated: shared.some(({ row, before }) => row.createdAt !== before.createdAt),
    ends: left.rows.length > 0 && right.rows.length > 0 ? compareRows(right.rows[0]!, left.rows.at(-1)!) : undefined,
    atBeginning: right.window.page === 1,
  }
}

/** By how many places a row moved that the totals do not explain. */
function farByDefinition(left: ReadWindow, right: ReadWindow, moved: number): number {
  if (left.total === right.total) return Math.abs(moved)
  if (left.total === undefined || right.total === undefined) return 0
  const [earlier, later, risen] = left.turn < right.turn ? [left, right, -moved] : [right, left, moved]
  return risen - Math.max(0, (earlier.total ?? 0) - (later.total ?? 0))
}

function spreadByDefinition(left: number, right: number, shared: readonly { index: number; place: number }[]): number {
  const [first, last] = [shared[0], shared.at(-1)]
  if (first === undefined || last === undefined) return 0
  const before = Math.min(first.index, first.place)
  const after = Math.min(right - last.index, left - last.place) - 1
  return before + Math.max(last.index - first.index, last.place - first.place) + 1 + after
}

test('an overlap equals a comparison of every row with every row', () => {
  fc.assert(
    fc.property(aWindow, aWindow, aPast, (one, other, past) => {
      const [left, right] = readTogether(one, other, past)
      expect(overlapBetween(left, right)).toEqual(overlapByDefinition(left, right))
      for (const read of [left, right]) expect(read.hasDuplicates).toBe(new Set(read.keys).size < read.keys.length)
    }),
    { seed: 1, numRuns: seeds(3000) },
  )
})

test('rows that are known by a number give the same overlap as rows known by their id', () => {
  const numbers = new Map<string, number>()
  const rowIdOf = (id: string) => numbers.get(id) ?? numbers.set(id, numbers.size + 1).size
  const numbered = ({ rows, ...window }: Received): Received => ({
    ...window,
    rows: rows.map(rowOf).map((row) => ({ ...row, rowId: row.id === undefined ? undefined : rowIdOf(row.id) })),
  })
  fc.assert(
    fc.property(aWindow, aWindow, aPast, (one, other, past) => {
      const overlap = overlapBetween(...readTogether(one, other, past))
      const before = past.before.map(numbered)
      expect(overlapBetween(...readTogether(numbered(one), numbered(other), { ...past, before }))).toEqual(overlap)
    }),
    { seed: 1, numRuns: seeds(3000) },
  )
})

test('unchanged rows give the same overlap when all except the ends have only a row number', () => {
  const numbers = new Map<string, number>()
  const keep = (row: Row) => {
    const { id = '' } = row
    return { ...row, id, isKept: true, rowId: numbers.get(id) ?? numbers.set(id, numbers.size + 1).size }
  }
  const told = ({ rows, ...window }: Received, isInFull: boolean): Received => {
    const kept = rows.map(rowOf).map(keep)
    const isEnd = (place: number) => place === 0 || place === kept.length - 1
    const few = kept.map((row, place) => (isInFull || isEnd(place) ? row : row.rowId))
    return { ...window, rows: few, rowOrder: orderOfRows(kept) }
  }
  fc.assert(
    fc.property(aWindow, aWindow, aPast, (one, other, { before, isRightFirst }) => {
      const past = { before: before.map((window) => told(window, false)), isRightFirst }
      const overlap = overlapBetween(...readTogether(told(one, true), told(other, true), past))
      expect(overlapBetween(...readTogether(told(one, false), told(other, false), past))).toEqual(overlap)
      expect(overlapBetween(...readTogether(told(one, false), told(other, true), past))).toEqual(overlap)
    }),
    { seed: 1, numRuns: seeds(3000) },
  )
})

test('a candidate survives a window exactly when it orders every pair of neighbours', () => {
  const few = fc.record({ rows: someRows(4), page: fc.constant(1), total: fc.constant(4) })
  fc.assert(
    fc.property(few, (window) => {
      const read = inFull(readFrom(window))
      const witnesses = new Witnesses()
      witnesses.observe(read)
      const repeated = new Set(read.rows.map(({ id }) => id)).size < read.rows.length
      const undated = read.rows.some(({ createdAt }) => createdAt === undefined)
      const expected = WITNESSES.filter((witness) => {
        if (repeated || (witness.dated && undated)) return false
        return read.rows.slice(1).every((row, place) => {
          const before = read.rows[place]
          const order = before === undefined ? -1 : witness.order(compareRows(before, row))
          return witness.total ? order < 0 : order <= 0
        })
      })
      expect(witnesses.possible(100).map(({ name }) => name)).toEqual(expected.map(({ name }) => name))
    }),
    { seed: 1, numRuns: seeds(3000) },
  )
})

test('the longest tie is the most neighbours of one creation time', () => {
  const witnesses = new Witnesses()
  const at = (second: number, index: number) => ({ id: `${index}`, createdAt: `2024-01-01T00:00:0${second}Z` })
  witnesses.observe(readFrom({ rows: [1, 1, 1, 2, 2, 3].map(at), page: 1, total: 6 }))
  expect(witnesses.longestTie).toBe(3)
})

test('the window from a position is, of those that start there or before, the one that reaches furthest', () => {
  const avoided = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 8 })
  fc.assert(
    fc.property(fc.nat({ max: 2000 }), fc.integer({ min: 1, max: 100 }), avoided, (position, largest, pages) => {
      const avoid = new Set(pages)
      const windows: Window[] = []
      for (let size = largest; size >= Math.ceil(largest / 2); size -= 1) {
        windows.push({ page: Math.floor(position / size) + 1, size })
      }
      const [first] = windows.filter(({ page }) => !avoid.has(page)).toSorted((a, b) => endOf(b) - endOf(a))
      expect(windowFrom(position, largest, avoid)).toEqual(first ?? windows[0])
    }),
    { seed: 1, numRuns: seeds(1000) },
  )
})
