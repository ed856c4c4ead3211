import { expect, test } from 'vitest'
import { EMPTY_LIST, type ListAsRead } from '../../src/model/list-as-read.ts'
import { ListMemory } from '../../src/sync/list-memory.ts'
import { RowSet } from '../../src/model/row-set.ts'

const LIST: ListAsRead = {
  columns: {
    rowIds: Uint32Array.of(11, 12, 13, 14),
    fingerprints: Float64Array.of(101, 102, 0, 104),
    idFingerprints: Uint32Array.of(1, 2, 3, 4),
    comparisons: new Uint8Array(4),
    oddities: Uint8Array.of(0, 1, 0, 2),
  },
  windows: [{ place: 0, count: 2, digest: 'first', outline: '{"ends":[]}' }],
  warnings: [{}, { odd_email: 1 }, { odd_email: 1, unknown_field: 2 }],
  order: {},
}

test('a page whose digest is known is the rows at its place, with what is odd about them', () => {
  const { memory } = aMemory()

  const page = memory.pageOf('first')

  expect(Array.from(page?.rowIds ?? [])).toEqual([11, 12])
  expect(page).toMatchObject({ window: LIST.windows[0], warnings: { odd_email: 1 } })
  expect([memory.pageOf('other'), memory.pageOf(undefined)]).toEqual([undefined, undefined])
})

test('a record is known when its fingerprint and that of its id agree', () => {
  const { memory } = aMemory()

  expect(memory.placeOf(104, 4)).toBe(3)
  expect(memory.oddityAt(3)).toEqual({ odd_email: 1, unknown_field: 2 })
  expect(memory.oddityAt(0)).toBeUndefined()
})

test.each([
  ['the fingerprint of a neighbour with an id of its own', 101, 2],
  ['a fingerprint that is nowhere', 105, 4],
  ['no fingerprint, like a customer that must be read again', 0, 3],
])('a record with %s is not known', (_, fingerprint, idFingerprint) => {
  const { memory } = aMemory()

  for (const likely of [-1, 0, 1, 2, 3, 4]) expect(memory.placeOf(fingerprint, idFingerprint, likely)).toBe(-1)
})

test.each(['doubted', 'written'] as const)('a customer that is %s is known by no page and no record', (how) => {
  const { memory, ...sets } = aMemory()
  sets[how].add(12)

  expect(memory.pageOf('first')).toBeUndefined()
  expect([memory.placeOf(102, 2), memory.placeOf(102, 2, 1)]).toEqual([-1, -1])
  expect(memory.placeOf(101, 1)).toBe(0)
})

test('a record is found at its place wherever it is looked for first', () => {
  const { memory } = aMemory()

  for (const likely of [-1, 0, 1, 2, 3, 4]) expect(memory.placeOf(102, 2, likely)).toBe(1)
})

test('an empty list knows nothing', () => {
  const memory = new ListMemory(EMPTY_LIST, { doubted: new RowSet(), written: new RowSet() })

  expect(memory.pageOf('first')).toBeUndefined()
  expect(memory.placeOf(101, 1)).toBe(-1)
})

function aMemory() {
  const [doubted, written] = [new RowSet(), new RowSet()]
  return { memory: new ListMemory(LIST, { doubted, written }), doubted, written }
}
