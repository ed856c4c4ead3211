import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cutting, cutRecords } from '../../../src/source/page/cut-records.ts'
import { aCustomer, customerId, customers } from '../../support/builders.ts'
import { seeds } from '../../support/seeds.ts'

const WAYS: readonly Cutting[] = ['quickly', 'exactly']

test.each(WAYS)('the records of a page are cut %s into those that were sent, in any alphabet', (cutting) => {
  const sent = [aCustomer(1), aCustomer(2, { name: 'Ευδοκία 花子' }), aCustomer(3, { phone: null, age: 7, note: '}' })]
  const cut = cutWhole(join(sent), cutting)

  expect(cut?.records()).toEqual(sent)
  expect(sent.map((_, place) => cut?.record(place))).toEqual(sent)
})

test.each(WAYS)(
  'the records of a page in one alphabet are those of a page with another one beside them, cut %s',
  (cutting) => {
    const sent = customers(1, 3)
    const beside = aCustomer(4, { name: 'Ευδοκία' })
    const [plain, mixed] = [cutWhole(join(sent), cutting), cutWhole(join([...sent, beside]), cutting)]

    expect(plain?.records()).toEqual(sent)
    expect(mixed?.records()).toEqual([...sent, beside])
    for (const place of sent.keys()) expect(plain?.record(place)).toEqual(mixed?.record(place))
  },
)

test.each(WAYS)('a record has the same bytes wherever it stands and however a page is written, cut %s', (cutting) => {
  const sent = customers(1, 4)
  const plain = textsIn(join(sent), cutting)

  for (const [before, between, after] of [
    ['\n    ', ',\n    ', '\n  '],
    ['', ' , ', ''],
    ['  ', ',', ''],
  ] as const) {
    expect(textsIn(`${before}${sent.map((one) => JSON.stringify(one)).join(between)}${after}`, cutting)).toEqual(plain)
  }
})

test.each([
  ['objects in a list of a record', [aCustomer(1, { orders: [{ n: 1 }, { n: 2 }] }), aCustomer(2)]],
  ['what looks like a border within a text', [aCustomer(1, { name: 'a},{b' }), aCustomer(2, { name: '"},{"' })]],
  ['quotation marks and backslashes', [aCustomer(1, { name: '\\"},{\\' }), aCustomer(2)]],
  ['records that are no objects', [1, null, [aCustomer(1), aCustomer(2)], 'a},{b']],
])('%s: a quick cut is wrong and gives no records, an exact one gives them', (_, sent) => {
  expect(cutWhole(join(sent), 'quickly')?.records()).toBeUndefined()
  expect(cutWhole(join(sent), 'exactly')?.records()).toEqual(sent)
})

// A space without a break, as one byte, is no UTF-8 either.
test.each(['\v', '\f', '\0', '\x1f', '\xa0'])(
  'with a character between records that JSON does not allow there, a page is not one: %j',
  (character) => {
    const texts = customers(1, 3).map((one) => JSON.stringify(one))
    const written = [texts.join(`${character},`), texts.join(`,${character}`), `${texts.join(',')}${character}`]
    for (const text of [...written, `${character}${texts.join(',')}`])
      for (const cutting of WAYS) {
        const cut = cutRecords(Buffer.from(text, 'latin1'), { most: 100, cutting })
        expect(cut?.records()).toBeUndefined()
      }
  },
)

test('a part of a record is none', () => {
  const cut = cutWhole(join([aCustomer(1, { name: 'a},{b' }), aCustomer(2)]), 'quickly')

  expect([0, 1, 2].map((place) => cut?.record(place))).toEqual([undefined, undefined, aCustomer(2)])
})

test.each(['{"id":"a', '{"id":"a\\', '{"a":1},', ' , {"a":1}', '{"a":1} ,  , {"a":1}', ' \n'])(
  'what ends within a text, or holds nothing between two commas, is no list of records: %j',
  (text) => {
    for (const cutting of WAYS) {
      const cut = cutWhole(text, cutting)
      expect(cut?.records()).toBeUndefined()
      for (const [place, start] of cut?.starts.entries() ?? []) expect(cut?.ends[place]).toBeGreaterThanOrEqual(start)
    }
  },
)

test.each(WAYS)('more records than a page may hold are not cut %s', (cutting) => {
  const data = Buffer.from(join(customers(1, 3)))

  expect(cutRecords(data, { most: 2, cutting })).toBeUndefined()
  expect(cutRecords(data, { most: 3, cutting })?.starts).toHaveLength(3)
})

test('bytes that are no UTF-8 are no record, and the others are', () => {
  const data = Buffer.from(join(customers(1, 2)))
  data.writeUInt8(0xff, 60)
  const cut = cutRecords(data, { most: 100, cutting: 'quickly' })

  expect([0, 1].map((place) => cut?.record(place))).toEqual([undefined, aCustomer(2)])
  expect(cut?.records()).toBeUndefined()
})

test.each([
  ['first', `{"id":"${customerId(1)}","name":"a"}`, true],
  ['last', `{"name":"a","id" : "${customerId(1)}"}`, true],
  ['in upper case', `{"id":"${customerId(0xab).toUpperCase()}"}`, false],
  ['within another field', `{"company":{"id":"${customerId(2)}"},"id":"${customerId(1)}"}`, false],
  ['as a text', `{"name":"\\"id\\"","id":"${customerId(1)}"}`, true],
  ['too short', `{"id":"${customerId(1).slice(1)}","name":"${'a'.repeat(36)}"}`, false],
  ['too long', `{"id":"${customerId(1)}0"}`, false],
  ['as a number', `{"id":1,"name":"${'a'.repeat(36)}"}`, false],
  ['nowhere', `{"name":"a"}`, false],
  ['written with an escape', `{"\\u0069d":"${customerId(1)}"}`, false],
])('an id that stands %s', (_, json, isFound) => {
  const cut = cutWhole(`${json},{"id":"${customerId(9)}"}`, 'quickly')

  expect(cut?.hasId(0, customerId(1))).toBe(isFound)
  expect(cut?.hasId(1, customerId(9))).toBe(true)
})

test('an id in upper case is the one in lower case', () => {
  expect(cutWhole(`{"id":"${customerId(0xab).toUpperCase()}"}`, 'quickly')?.hasId(0, customerId(0xab))).toBe(true)
})

test('whatever the records are: a cut gives all of them as they were sent, or none', () => {
  const value = fc.oneof(fc.constantFrom('},{', '"},{"', '\\', ']'), fc.jsonValue())
  const record = fc.oneof({ weight: 9, arbitrary: fc.dictionary(fc.string(), value) }, { weight: 1, arbitrary: value })
  const between = fc.constantFrom(',', ' ,\n', ', ')
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 6 }), between, fc.integer(), (records, comma, indent) => {
      const texts = records.map((one) => JSON.stringify(one, null, indent % 3))
      const sent: unknown = JSON.parse(`[${texts.join(',')}]`)
      const [quick, exact] = WAYS.map((cutting) => cutWhole(texts.join(comma), cutting)?.records())

      expect(exact).toEqual(sent)
      if (quick !== undefined) expect(quick).toEqual(sent)
    }),
    { numRuns: seeds(500) },
  )
})

function join(records: readonly unknown[]): string {
  return records.map((record) => JSON.stringify(record)).join(',')
}

function cutWhole(text: string, cutting: Cutting) {
  return cutRecords(Buffer.from(text), { most: 100, cutting })
}

function textsIn(text: string, cutting: Cutting): string[] {
  const { starts = [], ends = [] } = cutWhole(text, cutting) ?? {}
  return starts.map((start, place) => text.slice(start, ends[place]))
}
