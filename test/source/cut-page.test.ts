import { expect, test } from 'vitest'
import { cutPage, cutRecords } from '../../src/source/cut-page.ts'
import { aCustomer, customers } from '../support/builders.ts'

test.each([
  ['{"data":[1,{}],"meta":{}}', true],
  ['\uFEFF { "success":true , "data" : [ [] ] } ', true],
  ['{"data":["],\\"meta\\":{}", "\\"data\\":["],"links":[]}', true],
  ['{"data":[["],"],["links"],{"x":[1] ,"links":[2],"meta":[]}],"success":true}', true],
  ['{"x":"\\"data\\":[","data":[1]}', true],
  ['{"data":[1],"meta":{},"data":[2]}', true],
  [String.raw`{"data":[1],"d\u0061ta":[2]}`, true],
  [String.raw`{"data":[1],"meta":{},"d\u0061ta":[2],"x":[3]}`, true],
  [String.raw`{"data":[1],"meta":{},"d\u0061ta":[2]} `, true],
  [String.raw`{"data":[1],"meta":{},"d\u0061ta":2}`, false],
  ['{"meta":{"data":[1]},"data":[2]}', false],
  ['{"x":{"data":[1]},"data":5}', false],
  ['{"data":[1],"meta":{},"data":["records were here",2]}', true],
  ['{"data":"[1]","x":[1]}', false],
  ['{"x":[1]}', false],
  ['{"data":[ ]}', false],
])('bytes that are cut out of %s are the same records in another body: %s', (body, isCut) => {
  const cut = cutPage(Buffer.from(body))
  const { data, ...rest }: { data: unknown } = JSON.parse(body.replace('\uFEFF', ''))
  const other = cut && JSON.parse(`{"data":[${cut.records.toString()}],"links":{}}`)

  expect(cut && { ...other, ...cut.envelope }).toEqual(isCut ? { links: {}, ...rest, data: [] } : undefined)
  expect(other?.data).toEqual(isCut ? data : undefined)
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
  const values = ['},{', '"},{"', '\\', ']', 1, null, {}, [{}, {}], { a: [{ b: '},{' }, { c: 'é' }] }]
  for (const records of values.flatMap((one) => values.map((other) => [one, other])))
    for (const comma of [',', ' ,\n', ', ']) {
      const text = records.map((one) => JSON.stringify(one, null, comma.length - 1)).join(comma)
      expect([records, undefined]).toContainEqual(recordsOf(Buffer.from(text)))
    }
})

function join(records: readonly unknown[]): string {
  return records.map((record) => JSON.stringify(record)).join(',')
}

function recordsOf(data: Buffer) {
  return cutRecords(data, 100)?.records(() => false)
}
