import { expect, test } from 'vitest'
import { fingerprintWith } from '../../../src/model/fingerprint.ts'
import { EMPTY_LIST, type ListAsRead } from '../../../src/model/list-as-read.ts'
import { KnownList, ListRecorder } from '../../../src/sync/list-as-read.ts'
import { sortPage } from '../../../src/sync/sorting/sort-page.ts'
import { aCustomer, aSourcePage, customers, type SentRecord } from '../../support/builders.ts'

const fingerprint = fingerprintWith(new Uint8Array(16).fill(7))
const LIST = customers(1, 20)

test('a page that has shifted is known without its records being parsed, except the first and the last', () => {
  const { rowIds, customers: read, parsed, order, ends } = readAgain(LIST, LIST.slice(3, 17))

  expect(Array.from(rowIds)).toEqual(Array.from({ length: 14 }, (_, place) => 4 + place))
  expect(read).toEqual([])
  expect(parsed.toSorted((a, b) => a - b)).toEqual([0, 13])
  expect({ order, ends }).toMatchObject(asNew(LIST.slice(3, 17)))
})

test('around a new record only its neighbours are parsed', () => {
  const sent = [...LIST.slice(0, 9), aCustomer(99), ...LIST.slice(9)]
  const { customers: read, parsed, order, ends } = readAgain(LIST, sent)

  expect(read.map(({ id }) => id)).toEqual([aCustomer(99)['id']])
  expect(new Set(parsed)).toEqual(new Set([0, 8, 9, 10, 20]))
  expect({ order, ends }).toMatchObject(asNew(sent))
})

test.each<[string, (sent: SentRecord) => SentRecord]>([
  ['fields in another order', ({ name, ...rest }) => ({ ...rest, name })],
  ['a new value', (sent) => ({ ...sent, name: 'Renamed' })],
  ['an id in upper case', (sent) => ({ ...sent, id: String(sent['id']).toUpperCase() })],
])('a record with %s is read in full, and its neighbours are known', (_, edit) => {
  const sorted = readAgain(
    LIST,
    LIST.map((sent, place) => (place === 9 ? edit(sent) : sent)),
  )

  expect(sorted.places).toEqual([9])
  expect(sorted.rowIds[9]).toBe(0)
  expect(sorted.known).toHaveLength(19)
})

test('a record that follows a customer of the same page, with the same id, is not known: the first one counts', () => {
  const sorted = readAgain(LIST, [aCustomer(3, { name: 'Renamed' }), ...LIST])

  expect(sorted.known).toEqual([])
  expect(sorted.customers).toHaveLength(21)
})

test('a reject leaves the others known, with their ids for the scan', () => {
  const { known, rejects, rows, order } = readAgain(LIST, [
    ...LIST.slice(0, 5),
    { ...aCustomer(6), name: {} },
    ...LIST.slice(6),
  ])

  expect(known).toHaveLength(19)
  expect(rejects).toMatchObject([{ recordId: aCustomer(6)['id'], position: 5 }])
  expect(rows.map((row) => row?.id)).toEqual(LIST.map(({ id }) => id))
  expect(order).toBeUndefined()
})

/** What the next night makes of a page, and which of its records it parses one by one, after a night that read `before`. */
function readAgain(before: readonly SentRecord[], sent: readonly SentRecord[]) {
  const page = aSourcePage(1, [...sent])
  const parsed: number[] = []
  const cut: typeof page.cut = () => {
    const records = page.cut?.()
    return records && { ...records, record: (place) => (parsed.push(place), records.record(place)) }
  }
  return { ...sortPage({ ...page, cut }, undefined, { known: remembered(before), fingerprint }), parsed }
}

/** What the scan gets of a page without known records. */
function asNew(sent: readonly SentRecord[]) {
  const { order, ends } = readAgain([], sent)
  return { order, ends }
}

/** The list of a night that stored these customers in rows from 1. */
function remembered(sent: readonly SentRecord[]): KnownList {
  const empty = knownList(EMPTY_LIST)
  if (sent.length === 0) return empty
  const { marks } = sortPage(aSourcePage(1, [...sent]), undefined, { known: empty, fingerprint })
  const recorder = new ListRecorder(empty)
  const rowIds = sent.map((_, place) => place + 1)
  recorder.add({ start: 0, size: 100 }, rowIds, { marks })
  return knownList(recorder.next(sent.length))
}

function knownList(list: ListAsRead): KnownList {
  return new KnownList(list, { doubted: new Set(), written: new Set() })
}
