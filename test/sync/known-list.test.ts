import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Warnings } from '../../src/model/customer.ts'
import { EMPTY_LIST, UNKNOWN, type ListAsRead } from '../../src/model/list-as-read.ts'
import { RowSet } from '../../src/model/row-set.ts'
import { KnownList, ListRecorder, type Marks } from '../../src/sync/list-as-read.ts'
import { seeds } from '../support/seeds.ts'

/** Row `n` with the fingerprint of its `version`, and its warnings as an index. */
type Told = readonly [n: number, version?: number, oddity?: number]

describe('the order that a run leaves behind', () => {
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
})

describe('with a list before', () => {
  const warnings: Warnings[] = [{}, { odd_email: 1 }, { odd_email: 1, unknown_field: 2 }]
  const yesterday: ListAsRead = {
    ...read([
      [0, [[1], [2, 0, 1], [3]]],
      [3, [[3], [4, 0, 2]]],
    ]),
    warnings,
  }

  test.each([
    ['the fingerprint of a neighbour with an id of its own', mark(1), idMark(2)],
    ['a fingerprint that is nowhere', mark(5), idMark(4)],
    ['no fingerprint, like a customer that must be read again', UNKNOWN, idMark(3)],
  ])('a record with %s is not known', (_, fingerprint, id) => {
    const known = knownList(yesterday)

    for (const likely of [-1, 0, 1, 2, 3, 4]) expect(known.placeOf(fingerprint, id, likely)).toBe(-1)
  })

  test.each(['doubted', 'written'] as const)('a customer that is %s is known by no record', (how) => {
    const known = knownList(yesterday, { [how]: RowSet.of([2]) })

    expect([known.placeOf(mark(2), idMark(2)), known.placeOf(mark(2), idMark(2), 1)]).toEqual([-1, -1])
    expect(known.placeOf(mark(1), idMark(1))).toBe(0)
  })
})

test('there is room for 255 kinds of oddities, and none for another', () => {
  const known = knownList(EMPTY_LIST)
  const numbers = Array.from({ length: 300 }, (_, n) => known.oddityOf({ unknown_field: n + 1 }))

  expect(known.warnings).toHaveLength(256)
  expect([numbers[254], numbers[255], known.oddityOf({ unknown_field: 7 })]).toEqual([255, undefined, 7])
})

test('whatever windows a run reads, what the next one knows by them is what they held', () => {
  const row = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.nat(1))
  const windows = fc.array(fc.tuple(fc.nat(20), fc.array(row, { maxLength: 8 })), { maxLength: 8 })
  fc.assert(
    fc.property(windows, (reads) => {
      const list = read(reads)
      const known = knownList(list)
      const last = new Map(reads.map(([start, rows]) => [start, rows]))
      const met = [...last.values()].flat()
      expect(new Set(rowsOf(list))).toEqual(new Set(met.map(([n]) => n)))
      expect(new Set(rowsOf(list)).size).toBe(rowsOf(list).length)
      for (const [n, version] of met) {
        const versions = new Set(met.flatMap(([other, its]) => (other === n ? [its] : [])))
        const place = known.placeOf(mark(n, version), idMark(n))
        expect(list.columns.rowIds[place]).toBe(versions.size === 1 ? n : undefined)
      }
    }),
    { numRuns: seeds(300) },
  )
})

function knownList(list: ListAsRead, doubts: { doubted?: RowSet; written?: RowSet } = {}): KnownList {
  return new KnownList(list, { doubted: new RowSet(), written: new RowSet(), ...doubts })
}

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
    oddities: Uint8Array.from(rows, ([, , oddity]) => oddity ?? 0),
  }
}

function comparison(n: number, next = 0): number {
  return 1 + 16 * n + next
}

/** The list after a run that read these windows. */
function read(windows: readonly (readonly [start: number, rows: readonly Told[]])[]): ListAsRead {
  const recorder = new ListRecorder(knownList(EMPTY_LIST))
  for (const [start, rows] of windows) {
    const rowIds = rows.map(([n]) => n)
    recorder.add({ start, size: 10 }, rowIds, { marks: marks(rows) })
  }
  return recorder.next(new Set(windows.flatMap(([, rows]) => rows.map(([n]) => n))).size)
}

function rowsOf({ columns }: Pick<ListAsRead, 'columns'>): number[] {
  return Array.from(columns.rowIds)
}
