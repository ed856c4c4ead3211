import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprintWith } from '../src/fingerprint.ts'
import { sortRecords } from '../src/run/sort-records.ts'
import { aCustomer, customerId } from './support/builders.ts'
import { dice, type Dice } from './support/dice.ts'
import { seeds } from './support/seeds.ts'

const KEY = Uint8Array.from({ length: 16 }, (_, index) => 7 * index + 1)
const fingerprint = fingerprintWith(KEY)
/** Those of a customer, of a record without fields, and of no record, under that key. */
const KNOWN = [590_642_090_775_233, 1_475_413_566_145_268, 1_132_069_343_123_960]

const parsed = (json: string): unknown => JSON.parse(json)

test('the same record has the same fingerprint, however it was made', () => {
  const sent = aCustomer(1, { tags: ['a', { b: null }], age: 7, active: true })

  expect(fingerprint(parsed(JSON.stringify(sent)))).toBe(fingerprint(sent))
  expect(fingerprint(parsed(JSON.stringify(sent, null, 2)))).toBe(fingerprint({ ...sent }))
})

test('every bit of the key counts, and a key of another length is none', () => {
  const flipped = Array.from({ length: 128 }, (_, bit) => KEY.with(bit >> 3, (KEY[bit >> 3] ?? 0) ^ (1 << (bit & 7))))
  const keys = [KEY, ...flipped, new Uint8Array(16), new Uint8Array(16).fill(255)]

  expect(new Set(keys.map((key) => fingerprintWith(key)(aCustomer(1)))).size).toBe(keys.length)
  expect(fingerprintWith(new Uint8Array([9, ...KEY, 9]).subarray(1, 17))(aCustomer(1))).toBe(fingerprint(aCustomer(1)))
  for (const length of [0, 15, 17]) expect(() => fingerprintWith(new Uint8Array(length))).toThrow(/16 bytes/)
})

test('a fingerprint is the same on every machine and in every version, so that a mirror may move', () => {
  expect([aCustomer(1), {}, null].map(fingerprint)).toEqual(KNOWN)
})

test('a fingerprint can be written down and read again', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const print = fingerprint(value)
      expect(Number.isSafeInteger(print) && print >= 0).toBe(true)
      expect(new Float64Array(Float64Array.of(print).buffer)[0]).toBe(print)
    }),
  )
})

test.each([
  ['a text and a number', '{"name":"1"}', '{"name":1}'],
  ['a text and a truth', '{"name":"true"}', '{"name":true}'],
  ['a text and nothing', '{"name":"null"}', '{"name":null}'],
  ['nothing and no field', '{"name":null}', '{}'],
  ['an empty text and nothing', '{"name":""}', '{"name":null}'],
  ['an empty text and no field', '{"id":"x","name":""}', '{"id":"x"}'],
  ['a number too great and nothing', '{"name":1e400}', '{"name":null}'],
  ['numbers too great and too small', '{"name":1e400}', '{"name":-1e400}'],
  ['a number too great and its name', '{"name":1e400}', '{"name":"Infinity"}'],
  ['a list and its JSON', '{"tags":[1]}', '{"tags":"[1]"}'],
  ['a list and an object', '{"tags":["a"]}', '{"tags":{"0":"a"}}'],
  ['nested texts and numbers', '{"tags":{"a":["1"]}}', '{"tags":{"a":[1]}}'],
  ['fields in another order', '{"name":"a","email":"b"}', '{"email":"b","name":"a"}'],
  ['nested fields in another order', '{"x":{"a":1,"b":2}}', '{"x":{"b":2,"a":1}}'],
  ['values exchanged', '{"name":"a","email":"b"}', '{"name":"b","email":"a"}'],
  ['a value under another name', '{"name":"a"}', '{"email":"a"}'],
  ['a character moved to the next field', '{"name":"ab","email":"c"}', '{"name":"a","email":"bc"}'],
  ['a field in the value of another', '{"name":"a","email":"b"}', '{"name":"aemailb"}'],
  ['a zero at the end of a text', '{"name":"a"}', String.raw`{"name":"a\u0000"}`],
  ['upper and lower case', '{"name":"anna"}', '{"name":"Anna"}'],
  ['a letter composed and decomposed', '{"name":"é"}', String.raw`{"name":"e\u0301"}`],
  ['lone halves of a pair', String.raw`{"name":"\ud800"}`, String.raw`{"name":"\ud801"}`],
  ['a field that every object has', '{"__proto__":"a"}', '{"__proto__":"b"}'],
])('%s have different fingerprints', (_, one, other) => {
  expect(fingerprint(parsed(one))).not.toBe(fingerprint(parsed(other)))
})

test('characters that differ in their highest bits do not make up for one another', () => {
  const other = (text: string, ...flips: number[]) =>
    String.fromCharCode(...Array.from(text, (_, index) => text.charCodeAt(index) ^ (flips[index] ?? 0)))

  expect(fingerprint({ name: other('aAbA', 0, 0x80_00, 0, 0x80_01) })).not.toBe(fingerprint({ name: 'aAbA' }))
})

test('fields with two names are distinguished even if their 32-bit hashes are equal', () => {
  expect(fingerprint({ id: 'x', field_157382: 'v' })).not.toBe(fingerprint({ id: 'x', field_128879: 'v' }))
})

test('a zero added to a text is never passed over', () => {
  for (const text of ['v02119712', 'v02127303']) {
    expect(fingerprint({ a: text })).not.toBe(fingerprint({ a: `${text}\0` }))
  }
})

test('more names than are kept in mind make no difference', () => {
  const many = Array.from({ length: 3000 }, (_, index) => ({ [`name ${index}`]: 'a' }))
  const first = many.map(fingerprint)

  expect(many.map(fingerprint)).toEqual(first)
  expect(new Set(first).size).toBe(many.length)
})

/** What two records must have in common to be the same one. */
function written(record: object): string {
  return JSON.stringify(
    Object.entries(record).map(([field, value]) => [field, typeof value === 'number' ? String(value) : [value]]),
  )
}

const aValue = fc.oneof(
  fc.constantFrom('', '1', 1, 'null', null, true, 'true', Infinity, -Infinity, '[]'),
  fc.jsonValue(),
)
const aRecord = fc.dictionary(fc.oneof(fc.constantFrom('id', 'name', '__proto__', '0'), fc.string()), aValue, {
  maxKeys: 4,
})

test('any two records have one fingerprint when they are the same, and then alone', () => {
  fc.assert(
    fc.property(aRecord, aRecord, fc.array(fc.tuple(fc.constantFrom('id', 'name', '0'), aValue)), (one, two, edits) => {
      const near = { ...one, ...Object.fromEntries(edits) }
      for (const other of [two, near, { ...one }]) {
        expect(fingerprint(one) === fingerprint(other)).toBe(written(one) === written(other))
      }
    }),
    { numRuns: seeds(2000) },
  )
})

test('of 200,000 customers that are nearly the same no two have one fingerprint', () => {
  const random = dice(5)
  const texts = new Set<string>()
  const prints = new Set<number>()
  while (texts.size < 200_000) {
    const near = nearly(random)
    const text = written(near)
    if (texts.has(text)) continue
    texts.add(text)
    prints.add(fingerprint(near))
  }

  expect(prints.size).toBe(texts.size)
})

/** A customer with a character changed, two exchanged, or one shifted to the next field; or with several of these. */
function nearly(random: Dice): Record<string, unknown> {
  const fields = Object.entries(aCustomer(1)).map(([field, value]): [string, string] => [field, String(value)])
  for (let edit = 0; edit <= random.below(3); edit += 1) {
    const at = random.below(fields.length)
    const [field = '', text = ''] = fields[at] ?? []
    const place = random.below(text.length)
    const [before, here, after] = [text.slice(0, place), text.slice(place, place + 1), text.slice(place + 1)]
    const kind = random.below(4)
    if (kind === 0) fields[at] = [field, before + String.fromCharCode(32 + random.below(95)) + after]
    if (kind === 1) fields[at] = [field, before + after.slice(0, 1) + here + after.slice(1)]
    if (kind === 2) fields[at] = [field, before + String.fromCharCode(random.below(0x1_00_00)) + after]
    if (kind === 3) {
      const [next = '', more = ''] = fields[(at + 1) % fields.length] ?? []
      fields[at] = [field, text.slice(0, -1)]
      fields[(at + 1) % fields.length] = [next, text.slice(-1) + more]
    }
  }
  return Object.fromEntries(fields)
}

test('a record nested too deeply to be written is rejected as it is without being marked', () => {
  const deep = parsed(`{"id":"${customerId(1)}","note":${'['.repeat(200_000)}${']'.repeat(200_000)}}`)
  const sort = (mark?: typeof fingerprint) =>
    sortRecords([aCustomer(2), deep], { pageBytes: 400_000, fingerprint: mark })

  expect(() => fingerprint(deep)).toThrow(RangeError)
  expect(sort(fingerprint).rejects).toEqual(sort().rejects)
  expect(sort(fingerprint).rejects).toMatchObject([{ recordId: customerId(1), position: 1 }])
})
