import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutRecords } from '../../src/source/cut-page.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { seeds } from '../support/seeds.ts'

test.each([
  ['in any alphabet', [aCustomer(1), aCustomer(2, { name: 'Ευδοκία 花子' }), aCustomer(3, { phone: null, note: '}' })]],
  ['with objects in a list of a record', [aCustomer(1, { orders: [{ n: 1 }, { n: 2 }] }), aCustomer(2)]],
  ['with what looks like a border in a text', [aCustomer(1, { name: 'a},{b' }), aCustomer(2, { name: '"},{"' })]],
  ['with quotation marks and backslashes', [aCustomer(1, { name: '\\"},{\\' }), aCustomer(2)]],
  ['that are no objects', [1, null, [aCustomer(1), aCustomer(2)], 'a},{b']],
])('records %s are cut into those that were sent', (_, sent) => {
  const cut = cutWhole(join(sent))

  expect(cut?.records()).toEqual(sent)
  expect(sent.map((_record, place) => cut?.record(place))).toEqual(sent)
  // A quick cut in the wrong place leaves a part that is no record.
  expect([sent, undefined]).toContainEqual(cutRecords(Buffer.from(join(sent)), 100, 'quickly')?.records())
})

test('records of one line each are cut quickly', () => {
  const sent = customers(1, 3)

  expect(
    cutRecords(Buffer.from(sent.map((one) => JSON.stringify(one)).join(' ,\n')), 100, 'quickly')?.records(),
  ).toEqual(sent)
})

test('a record has the same bytes wherever it stands and however a page is written', () => {
  const sent = customers(1, 4)
  const plain = textsIn(join(sent))

  for (const [before, between, after] of [
    ['\n    ', ',\n    ', '\n  '],
    ['', ' , ', ''],
  ] as const) {
    expect(textsIn(`${before}${sent.map((one) => JSON.stringify(one)).join(between)}${after}`)).toEqual(plain)
  }
})

// A space without a break, as one byte, is no UTF-8 either.
test.each(['\v', '\f', '\0', '\x1f', '\xa0'])(
  'with a character between records that JSON does not allow there, a page is not one: %j',
  (character) => {
    const texts = customers(1, 3).map((one) => JSON.stringify(one))
    const written = [texts.join(`${character},`), texts.join(`,${character}`), `${texts.join(',')}${character}`]
    for (const text of [...written, `${character}${texts.join(',')}`])
      expect(cutRecords(Buffer.from(text, 'latin1'), 100)?.records()).toBeUndefined()
  },
)

test.each(['{"id":"a', '{"id":"a\\', '{"a":1},', ' , {"a":1}', '{"a":1} ,  , {"a":1}', ' \n'])(
  'what ends within a text, or holds nothing between two commas, is no list of records: %j',
  (text) => {
    const cut = cutWhole(text)
    expect(cut?.records()).toBeUndefined()
    for (const [place, start] of cut?.starts.entries() ?? []) expect(cut?.ends[place]).toBeGreaterThanOrEqual(start)
  },
)

test('more records than a page may hold are not cut', () => {
  const data = Buffer.from(join(customers(1, 3)))

  expect(cutRecords(data, 2)).toBeUndefined()
  expect(cutRecords(data, 3)?.starts).toHaveLength(3)
})

test('bytes that are no UTF-8 are no record, and the others are', () => {
  const data = Buffer.from(join(customers(1, 2)))
  data.writeUInt8(0xff, 60)
  const cut = cutRecords(data, 100)

  expect([0, 1].map((place) => cut?.record(place))).toEqual([undefined, aCustomer(2)])
  expect(cut?.records()).toBeUndefined()
})

test.each([
  ['first', `{"id":"${customerId(1)}","name":"a"}`, true],
  ['last', `{"name":"a","id" : "${customerId(1)}"}`, true],
  ['in upper case', `{"id":"${customerId(1).toUpperCase()}"}`, true],
  ['within another field', `{"company":{"id":"${customerId(2)}"},"id":"${customerId(1)}"}`, false],
  ['as a text', `{"name":"\\"id\\"","id":"${customerId(1)}"}`, true],
  ['too short', `{"id":"${customerId(1).slice(1)}","name":"${'a'.repeat(36)}"}`, false],
  ['too long', `{"id":"${customerId(1)}0"}`, false],
  ['as a number', `{"id":1,"name":"${'a'.repeat(36)}"}`, false],
  ['nowhere', `{"name":"a"}`, false],
  ['written with an escape', `{"\\u0069d":"${customerId(1)}"}`, false],
])('an id that stands %s', (_, json, isFound) => {
  const cut = cutWhole(`${json},{"id":"${customerId(9)}"}`)

  expect(cut?.hasId(0, customerId(1))).toBe(isFound)
  expect(cut?.hasId(1, customerId(9))).toBe(true)
})

test('whatever the records are, a cut gives all of them as they were sent', () => {
  const value = fc.oneof(fc.constantFrom('},{', '"},{"', '\\', ']'), fc.jsonValue())
  const between = fc.constantFrom(',', ' ,\n', ', ')
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 6 }), between, fc.nat(2), (records, comma, indent) => {
      const texts = records.map((one) => JSON.stringify(one, null, indent))
      expect(cutWhole(texts.join(comma))?.records()).toEqual(JSON.parse(`[${texts.join(',')}]`))
    }),
    { numRuns: seeds(1000) },
  )
})

function join(records: readonly unknown[]): string {
  return records.map((record) => JSON.stringify(record)).join(',')
}

function cutWhole(text: string) {
  return cutRecords(Buffer.from(text), 100)
}

function textsIn(text: string): string[] {
  const { starts = [], ends = [] } = cutWhole(text) ?? {}
  return starts.map((start, place) => text.slice(start, ends[place]))
}
