import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutPage, cutRecords } from '../../src/source/cut-page.ts'
import { aCustomer, customers } from '../support/builders.ts'
import { seeds } from '../support/seeds.ts'

const parsed = (bytes: Buffer): { data: unknown } => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))

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

// A space without a break, as one byte, is no UTF-8 either.
test.each(['\v', '\f', '\0', '\x1f', '\xa0'])(
  'with a character between records that JSON does not allow there, a page is not one: %j',
  (character) => {
    const texts = customers(1, 3).map((one) => JSON.stringify(one))
    const written = [texts.join(`${character},`), texts.join(`,${character}`), `${texts.join(',')}${character}`]
    for (const text of [...written, `${character}${texts.join(',')}`])
      expect(recordsOf(Buffer.from(text, 'latin1'))).toBeUndefined()
  },
)

test('bytes that are no UTF-8 are no record, and the others are', () => {
  const data = Buffer.from(join(customers(1, 2)))
  data.writeUInt8(0xff, 60)
  const cut = cutRecords(data, 100)

  expect([0, 1].map((place) => cut?.record(place))).toEqual([undefined, aCustomer(2)])
  expect(recordsOf(data)).toBeUndefined()
})

test('whatever the records are, a cut gives all of them as they were sent, or none where it fell within one', () => {
  const value = fc.oneof(fc.constantFrom('},{', '"},{"', '\\', ']'), fc.jsonValue())
  const between = fc.constantFrom(',', ' ,\n', ', ')
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 6 }), between, fc.nat(2), (records, comma, indent) => {
      const texts = records.map((one) => JSON.stringify(one, null, indent))
      const sent = JSON.parse(`[${texts.join(',')}]`)
      expect([sent, undefined]).toContainEqual(recordsOf(Buffer.from(texts.join(comma))))
    }),
    { numRuns: seeds(1000) },
  )
})

function join(records: readonly unknown[]): string {
  return records.map((record) => JSON.stringify(record)).join(',')
}

function recordsOf(data: Buffer) {
  return cutRecords(data, 100)?.records(() => false)
}
