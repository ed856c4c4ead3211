import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutPage, cutRecords } from '../../src/source/cut-page.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { seeds } from '../support/seeds.ts'

const META = { current_page: 1, per_page: 10, total: 2, last_page: 1 }
const RECORDS = [
  { id: 'a', name: 'Ä ] } 😀', tags: [[1], { meta: [] }] },
  { id: 'b', name: '],"meta":{}', links: [], meta: [2] },
]
/** The members around `data`, which may be anywhere among them. */
const MEMBERS = { success: true, links: { first: null, pages: ['],"meta"'] }, meta: META }

function body(
  names: readonly string[],
  { data = RECORDS, space = 0 }: { data?: unknown; space?: number } = {},
): Buffer {
  const members: Record<string, unknown> = { ...MEMBERS, data }
  return Buffer.from(JSON.stringify(Object.fromEntries(names.map((name) => [name, members[name]])), null, space))
}

const parsed = (bytes: Buffer): { data: unknown } => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))

const ORDERS = orders(['success', 'data', 'meta', 'links'])

test.each(ORDERS.map((names) => [names.join(', '), names] as const))('a body of %s is cut', (_, names) => {
  for (const space of [0, 2]) {
    const cut = cutPage(body(names, { space }))
    expect(cut?.envelope).toEqual({ ...MEMBERS, data: [] })
    expect(JSON.parse(`[${cut?.records.toString()}]`)).toEqual(RECORDS)
  }
})

test.each([
  ['a byte order mark', `\uFEFF{"success":true,"data":[1],"meta":{}}`],
  ['data at the end', `{"success":true,"meta":{},"data":[1]\n}\n`],
  ['another field after the records', `{"success":true,"data":[1],"meta":{},"extra":[2]}`],
])('%s is no hindrance', (_, text) => {
  expect(cutPage(Buffer.from(text))?.envelope).toMatchObject({ success: true, data: [] })
})

test.each([
  ['an empty list', '{"data":[],"meta":{}}'],
  ['a list with holes', '{"data":{"0":1,"2":3},"meta":{}}'],
  ['no list', '{"data":null,"meta":{}}'],
  [
    'a data in a text before',
    '{"note":"the \\"data\\":[","data":[1],"meta":{"a":"\\"data\\":[1]"}}'.replaceAll('\\"data\\"', '"data"'),
  ],
  ['a data within another field before', '{"links":{"data":[1]},"data":[2],"meta":{}}'],
  ['a data within another field, beside a meta', '{"links":{"data":[1],"meta":{}},"data":[2]}'],
  ['a second data of another kind', '{"data":[1],"meta":{},"data":null}'],
  ['only a name that is escaped', String.raw`{"d\u0061ta":[1],"meta":{}}`],
  ['an end that is cut off', '{"data":[1],"meta":{"current_page":1'],
  ['something else', '<html>"data":[1],"meta"</html>'],
])('a body with %s is not cut', (_, text) => {
  expect(cutPage(Buffer.from(text))).toBeUndefined()
})

test('a body that is no UTF-8 around its records is not cut', () => {
  const text = '{"success":true,"data":[{"id":"a"}],"meta":{},"note":"%"}'
  const spoiled = Buffer.from(text).map((byte) => (byte === '%'.charCodeAt(0) ? 0xff : byte))

  expect(cutPage(Buffer.from(spoiled))).toBeUndefined()
})

/** Texts that look like parts of a body, and whatever else JSON holds. */
const treacherous = fc.constantFrom('],"meta":{}', '"data":[', ']}', '\\"],"links":[', 'data', '[', '\u2028', '"')
const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    treacherous,
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(treacherous, fc.constantFrom('meta', 'links', 'data', 'success')), tie('value'), {
      maxKeys: 3,
    }),
  ),
}))
const aMember = fc.tuple(
  fc.constantFrom('"data"', '"data"', '"meta"', '"links"', '"success"', '"x"', String.raw`"d\u0061ta"`),
  fc.oneof(anyValue, fc.array(anyValue, { maxLength: 3 })),
)
const aSpace = fc.constantFrom('', '', ' ', '\n  ')
/** Bodies in which names come again, and every order. */
const aBody = fc
  .tuple(fc.array(aMember, { maxLength: 5 }), aSpace, fc.constantFrom('', '\uFEFF'))
  .map(([members, space, mark]) => {
    const texts = members.map(([name, value]) => `${space}${name}${space}:${space}${JSON.stringify(value)}${space}`)
    return Buffer.from(`${mark}{${texts.join(',')}}${space}`)
  })

test('bytes that were cut out of one body are the same records in every other', () => {
  let cuts = 0
  const known = new Map<string, unknown>()
  fc.assert(
    fc.property(aBody, aMember, aSpace, (whole, [name, value], space) => {
      const cut = cutPage(whole)
      if (cut === undefined) return
      cuts += 1
      const { data } = parsed(whole)
      const bytes = cut.records.toString()
      expect(known.get(bytes) ?? data).toEqual(data)
      known.set(bytes, data)
      expect({ ...cut.envelope, data }).toMatchObject({ data })

      const more = name === '"data"' ? '' : `,${name}:${JSON.stringify(value)}`
      const other = Buffer.from(`{"success":true${more},"data"${space}:[${bytes}]${space},"meta":{}}`)
      const again = cutPage(other)
      if (again?.records.toString() === bytes) expect(parsed(other).data).toEqual(data)
    }),
    { numRuns: seeds(3000) },
  )
  expect(cuts).toBeGreaterThan(seeds(3000) / 10)
})

function orders(names: readonly string[]): string[][] {
  if (names.length < 2) return [[...names]]
  return names.flatMap((name) => orders(names.filter((other) => other !== name)).map((rest) => [name, ...rest]))
}

test('records in any alphabet are cut into those that were sent', () => {
  const sent = [aCustomer(1), aCustomer(2, { name: 'Ευδοκία 花子' }), aCustomer(3, { phone: null, note: '}' })]
  const cut = cutWhole(join(sent))

  expect(cut?.records()).toEqual(sent)
  expect(sent.map((_record, place) => cut?.record(place))).toEqual(sent)
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
  ['within another field', `{"company":{"id":"${customerId(2)}"},"id":"${customerId(1)}"}`, false],
  ['as a text', `{"name":"\\"id\\"","id":"${customerId(1)}"}`, true],
  ['too short', `{"id":"${customerId(1).slice(1)}","name":"${'a'.repeat(36)}"}`, false],
  ['nowhere', `{"name":"a"}`, false],
])('an id that stands %s', (_, json, isFound) => {
  const cut = cutWhole(`${json},{"id":"${customerId(9)}"}`)

  expect(cut?.hasId(0, customerId(1))).toBe(isFound)
  expect(cut?.hasId(1, customerId(9))).toBe(true)
})

test('whatever the records are, a cut gives all of them as they were sent, or none where it fell within one', () => {
  const value = fc.oneof(fc.constantFrom('},{', '"},{"', '\\', ']'), fc.jsonValue())
  const between = fc.constantFrom(',', ' ,\n', ', ')
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 6 }), between, fc.nat(2), (records, comma, indent) => {
      const texts = records.map((one) => JSON.stringify(one, null, indent))
      expect([JSON.parse(`[${texts.join(',')}]`), undefined]).toContainEqual(cutWhole(texts.join(comma))?.records())
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
