import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprintWith } from '../../src/model/fingerprint.ts'
import { aCustomer, customerId, printOf, viewOf } from '../support/builders.ts'
import { seeds } from '../support/seeds.ts'

const KEY = Uint8Array.from({ length: 16 }, (_, index) => 7 * index + 1)
const fingerprint = fingerprintWith(KEY)
/** Those of a customer, of a record without fields, and of no record, under that key; and that of the id. */
const KNOWN = [5_605_831_437_881_520, 7_490_215_587_555_270, 877_008_218_775_728]
const KNOWN_ID = 1_414_529_761

const ofJson = (json: string) => {
  const bytes = viewOf(json)
  return fingerprint.record(bytes, 0, bytes.byteLength)
}
const ofId = (id: string, at = 0) => fingerprint.id(viewOf(`${'x'.repeat(at)}${id}`), at)

test('every bit of the key counts, and a key of another length is none', () => {
  const flipped = Array.from({ length: 128 }, (_, bit) => KEY.with(bit >> 3, (KEY[bit >> 3] ?? 0) ^ (1 << (bit & 7))))
  const keys = [KEY, ...flipped, new Uint8Array(16), new Uint8Array(16).fill(255)]
  const ids = keys.map((key) => fingerprintWith(key).id(viewOf(customerId(1)), 0))

  expect(new Set(keys.map((key) => printOf(fingerprintWith(key), aCustomer(1)))).size).toBe(keys.length)
  expect(new Set(ids).size).toBe(keys.length)
  const sameKey = fingerprintWith(new Uint8Array([9, ...KEY, 9]).subarray(1, 17))
  expect(printOf(sameKey, aCustomer(1))).toBe(printOf(fingerprint, aCustomer(1)))
  for (const length of [0, 15, 17]) expect(() => fingerprintWith(new Uint8Array(length))).toThrow(/16 bytes/)
})

test('a fingerprint is the same on every machine and in every version, so that a mirror may move', () => {
  expect([aCustomer(1), {}, null].map((sent) => printOf(fingerprint, sent))).toEqual(KNOWN)
  expect(ofId(customerId(0xab))).toBe(KNOWN_ID)
})

test('an id has one fingerprint in upper and lower case and wherever it stands, and every digit of it counts', () => {
  const id = customerId(0xab_cdef)
  const others = Array.from(
    id,
    (character, at) => `${id.slice(0, at)}${character === 'f' ? 'e' : 'f'}${id.slice(at + 1)}`,
  )
  const digits = others.filter((_, at) => id[at] !== '-')

  for (let at = 0; at < 9; at += 1) expect(ofId(id.toUpperCase(), at)).toBe(ofId(id))
  expect(new Set([id, ...digits].map((other) => ofId(other))).size).toBe(33)
})

test('any two texts have one fingerprint when they are the same, and then alone', () => {
  const near = fc.array(fc.tuple(fc.nat(200), fc.string({ unit: 'grapheme' })), { maxLength: 2 })
  fc.assert(
    fc.property(fc.json(), fc.json(), near, (one, two, edits) => {
      const edited = edits.reduce((text, [at, more]) => `${text.slice(0, at)}${more}${text.slice(at)}`, one)
      const sent = Buffer.from(one).toString()
      for (const other of [two, edited, sent].map((text) => Buffer.from(text).toString())) {
        expect(ofJson(sent) === ofJson(other)).toBe(sent === other)
      }
    }),
    { numRuns: seeds(2000) },
  )
})
