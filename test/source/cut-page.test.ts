import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutPage } from '../../src/source/cut-page.ts'
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
  ['white space everywhere', ` { "success" : true , "data" : \n [ 1 ] \t , "meta" : { } } \n`],
  ['data at the end', `{"success":true,"meta":{},"data":[1]\n}\n`],
  ['another field after the records', `{"success":true,"data":[1],"meta":{},"extra":[2]}`],
])('%s is no hindrance', (_, text) => {
  expect(cutPage(Buffer.from(text))?.envelope).toMatchObject({ success: true, data: [] })
})

test.each([
  ['an empty list', '{"data":[],"meta":{}}'],
  ['an empty list with blanks in it', '{"data": [ \r\n\t ],"meta":{}}'],
  ['a list with holes', '{"data":{"0":1,"2":3},"meta":{}}'],
  ['no list', '{"data":null,"meta":{}}'],
  [
    'a data in a text before',
    '{"note":"the \\"data\\":[","data":[1],"meta":{"a":"\\"data\\":[1]"}}'.replaceAll('\\"data\\"', '"data"'),
  ],
  ['a data within another field before', '{"links":{"data":[1]},"data":[2],"meta":{}}'],
  ['a data within another field, beside a meta', '{"links":{"data":[1],"meta":{}},"data":[2]}'],
  ['a data in a list of lists', '[{"data":[1],"meta":{}}]'],
  ['a second data of another kind', '{"data":[1],"meta":{},"data":null}'],
  ['only a name that is escaped', String.raw`{"d\u0061ta":[1],"meta":{}}`],
  ['an end that is cut off', '{"data":[1],"meta":{"current_page":1'],
  ['an end within the records', '{"data":[1,{"meta":'],
  ['something after the end', '{"data":[1],"meta":{}} {}'],
  ['nothing', ''],
  ['something else', '<html>"data":[1],"meta"</html>'],
])('a body with %s is not cut', (_, text) => {
  expect(cutPage(Buffer.from(text))).toBeUndefined()
})

test.each(['data', String.raw`d\u0061ta`])('of a list that is sent twice, again as %s, both count', (name) => {
  const cut = cutPage(Buffer.from(`{"data":[1],"meta":{},"${name}":[2],"meta":{}}`))

  expect(cut?.records.toString()).toBe(`1],"meta":{},"${name}":[2`)
})

test('a body that is no UTF-8 around its records is not cut', () => {
  const text = '{"success":true,"data":[{"id":"a"}],"meta":{},"note":"%"}'
  const spoiled = Buffer.from(text).map((byte) => (byte === '%'.charCodeAt(0) ? 0xff : byte))

  expect(cutPage(Buffer.from(spoiled))).toBeUndefined()
})

test('what comes after the records may be long: then the page is read', () => {
  const long = (length: number) => Buffer.from(`{"data":[1],"meta":{"note":"${'x'.repeat(length)}"}}`)

  expect(cutPage(long(4000))?.envelope).toMatchObject({ data: [] })
  expect(cutPage(long(100_000))).toBeUndefined()
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
