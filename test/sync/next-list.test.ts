import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Warnings } from '../../src/model/customer.ts'
import { EMPTY_LIST, UNKNOWN, type ListAsRead } from '../../src/model/list-as-read.ts'
import { ListMemory } from '../../src/sync/list-memory.ts'
import { ListRecorder, type Marks } from '../../src/sync/list-recorder.ts'
import { nextList } from '../../src/sync/next-list.ts'
import { seeds } from '../support/seeds.ts'

/** Row `n` with the fingerprint of its `version`. */
type Told = readonly [n: number, version?: number, warnings?: Warnings]

describe('the order', () => {
  test('windows follow each other by their positions', () => {
    const list = read([
      [4, [[4], [5], [6]]],
      [0, [[1], [2], [3], [4]]],
    ])

    expect(rowsOf(list)).toEqual([1, 2, 3, 4, 5, 6])
    expect(list.windows.map(({ place, count }) => [place, count])).toEqual([
      [0, 4],
      [3, 3],
    ])
  })

  test('a customer met late stands between its neighbours, wherever positions have shifted meanwhile', () => {
    const list = read([
      [0, [[1], [2], [3]]],
      [3, [[7], [8], [9]]],
      [4, [[4], [5], [6], [7], [8]]],
      [6, [[9], [12]]],
      [7, [[10], [11], [12]]],
    ])

    expect(rowsOf(list)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(list.windows.map(({ place, count }) => [place, count])).toEqual([
      [0, 3],
      [6, 3],
      [3, 5],
      [9, 3],
    ])
  })

  test('records without a customer have no place', () => {
    const recorder = new ListRecorder()
    recorder.add(window(0, undefined), [1, 0, 2], marks([[1], [UNKNOWN], [2]]))

    expect(rowsOf(nextList(recorder, { customers: 2, before }))).toEqual([1, 2])
  })
})

describe('what is not known again', () => {
  test('a customer that came with two different records: only one of them is stored', () => {
    const list = read([
      [0, [[1], [2, 1]]],
      [1, [[2, 2], [3]]],
    ])

    expect(Array.from(list.columns.fingerprints)).toEqual([mark(1), UNKNOWN, mark(3)])
    expect(list.windows).toEqual([])
  })

  test('a window in which a customer appeared between two that were met before', () => {
    const list = read([
      [0, [[1], [2], [3]]],
      [1, [[2], [9], [3], [4]]],
    ])

    expect(rowsOf(list)).toEqual([1, 2, 9, 3, 4])
    expect(list.windows).toHaveLength(1)
  })

  test('a window that lists a customer twice', () => {
    expect(read([[0, [[1], [2], [1]]]]).windows).toEqual([])
  })

  test('a window without a digest, whose records are known all the same', () => {
    const recorder = new ListRecorder()
    recorder.add(window(0, undefined), [1], marks([[1]]))
    const list = nextList(recorder, { customers: 1, before })

    expect(list.windows).toEqual([])
    expect(new ListMemory(list, NO_DOUBTS).placeOf(mark(1), idMark(1))).toBe(0)
  })

  test('more kinds of oddities than a byte can tell apart', () => {
    const many = Array.from({ length: 300 }, (_, n): Told => [n + 1, 0, { unknown_field: n + 1 }])
    const list = read([[0, many]])

    expect(list.warnings).toHaveLength(256)
    expect(list.columns.fingerprints[254]).toBe(mark(255))
    expect(list.columns.fingerprints[255]).toBe(UNKNOWN)
  })
})

describe('with a list before', () => {
  const yesterday = read([
    [0, [[1], [2, 0, { odd_email: 1 }], [3]]],
    [3, [[3], [4]]],
  ])
  const memory = new ListMemory(yesterday, NO_DOUBTS)

  test('windows that all come as before leave the very same list', () => {
    const recorder = new ListRecorder(yesterday.warnings)
    for (const digest of ['3', '0']) takeKnown(recorder, digest)

    expect(nextList(recorder, { customers: 4, before: { list: yesterday, isCertain: () => true } })).toBe(yesterday)
  })

  test('a known window among new ones keeps its records, its digest and its oddities', () => {
    const recorder = new ListRecorder(yesterday.warnings)
    recorder.add(window(0, 'new'), [9, 1], marks([[9, 0, { missing_field: 1 }], [1]]))
    takeKnown(recorder, '0', 1)

    const list = nextList(recorder, { customers: 4, before: { list: yesterday, isCertain: () => true } })

    expect(rowsOf(list)).toEqual([9, 1, 2, 3])
    expect(list.windows.map(({ digest, place }) => [digest, place])).toEqual([
      ['new', 0],
      ['0', 1],
    ])
    const kinds = Array.from(list.columns.oddities, (oddity) => list.warnings[oddity])
    expect(kinds).toEqual([{ missing_field: 1 }, {}, { odd_email: 1 }, {}])
  })

  test('customers known only by their row keep what the list before says, unless they were written since', () => {
    const recorder = new ListRecorder(yesterday.warnings)
    recorder.add(window(0, undefined), [4, 2, 8])

    const list = nextList(recorder, { customers: 3, before: { list: yesterday, isCertain: (row) => row !== 4 } })

    expect(Array.from(list.columns.fingerprints)).toEqual([UNKNOWN, mark(2), UNKNOWN])
  })

  function takeKnown(recorder: ListRecorder, digest: string, start = Number(digest)) {
    const known = memory.pageOf(digest)
    if (known === undefined) throw new Error('not known')
    recorder.addKnown({ start, size: 10 }, known, yesterday.columns)
  }
})

test('a customer compares with the next one as it did in a window in which both stood together, and else in no known way', () => {
  const list = read([
    [0, [[1], [2], [3]]],
    [2, [[3], [4]]],
    [4, [[5], [6], [4], [7]]],
  ])

  expect(rowsOf(list)).toEqual([1, 2, 3, 5, 6, 4, 7])
  const known = [comparison(1, 2), comparison(2, 3), 0, comparison(5, 6), comparison(6, 4), comparison(4, 7), 0]
  expect(Array.from(list.columns.comparisons)).toEqual(known)
})

test('whatever windows a run reads, what the next one knows by them is what they held', () => {
  const row = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.nat(1))
  const windows = fc.array(fc.tuple(fc.nat(20), fc.array(row, { maxLength: 8 })), { maxLength: 8 })
  fc.assert(
    fc.property(windows, (reads) => {
      const list = read(reads)
      const memory = new ListMemory(list, NO_DOUBTS)
      const last = new Map(reads.map(([start, rows]) => [String(start), rows]))
      for (const [digest, rows] of last) {
        const known = memory.pageOf(digest)
        if (known !== undefined) expect(Array.from(known.rowIds)).toEqual(rows.map(([n]) => n))
      }
      for (const [n, version] of [...last.values()].flat()) {
        const versions = new Set([...last.values()].flat().flatMap(([other, its]) => (other === n ? [its] : [])))
        const place = memory.placeOf(mark(n, version), idMark(n))
        expect(list.columns.rowIds[place]).toBe(versions.size === 1 ? n : undefined)
      }
    }),
    { numRuns: seeds(300) },
  )
})

const NO_DOUBTS = { doubted: new Set<number>(), written: new Set<number>() }
const before = { list: EMPTY_LIST, isCertain: () => true }

function mark(n: number, version = 0): number {
  return 1000 * n + version + 1
}

function idMark(n: number): number {
  return n + 500
}

/** The marks of these rows, each with the next in its comparison. */
function marks(rows: readonly Told[]): Marks {
  return {
    fingerprints: Float64Array.from(rows, ([n, version]) => (n === UNKNOWN ? UNKNOWN : mark(n, version))),
    idFingerprints: Uint32Array.from(rows, ([n]) => (n === UNKNOWN ? UNKNOWN : idMark(n))),
    comparisons: Uint8Array.from(rows, ([n], place) => comparison(n, rows[place + 1]?.[0])),
    oddities: new Uint8Array(rows.length),
    warnings: new Map(rows.flatMap(([, , warnings], place) => (warnings === undefined ? [] : [[place, warnings]]))),
  }
}

function comparison(n: number, next = 0): number {
  return 1 + 16 * n + next
}

function window(start: number, digest: string | undefined) {
  return { start, size: 10, digest, outline: '{}' }
}

/** The list after a run that read these windows, each with its start for a digest. */
function read(windows: readonly (readonly [start: number, rows: readonly Told[]])[]): ListAsRead {
  const recorder = new ListRecorder()
  for (const [start, rows] of windows) {
    const rowIds = rows.map(([n]) => n)
    recorder.add(window(start, String(start)), rowIds, marks(rows))
  }
  const customers = new Set(windows.flatMap(([, rows]) => rows.map(([n]) => n))).size
  return nextList(recorder, { customers, before })
}

function rowsOf({ columns }: ListAsRead): number[] {
  return Array.from(columns.rowIds)
}
