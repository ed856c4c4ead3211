import { expect, test } from 'vitest'
import { fingerprintWith } from '../../src/model/fingerprint.ts'
import { aCustomer, customerId, printOf, viewOf } from '../support/builders.ts'

const KEY = Uint8Array.from({ length: 16 }, (_, index) => 7 * index + 1)
const fingerprint = fingerprintWith(KEY)
/** Those of a customer, of a record without fields, of no record, and of texts of three and of five bytes, under that key; and that of the id. */
const KNOWN = [
  ...[5_605_831_437_881_520, 7_490_215_587_555_270, 877_008_218_775_728],
  ...[4_980_118_870_239_398, 7_178_797_091_921_063],
]
const KNOWN_ID = 1_414_529_761

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
  expect([aCustomer(1), {}, null, 'a', 'abc'].map((sent) => printOf(fingerprint, sent))).toEqual(KNOWN)
  expect(ofId(customerId(0xab))).toBe(KNOWN_ID)
})

test('an id has one fingerprint in upper and lower case and wherever it stands, and every digit of it counts', () => {
  const id = customerId(0xab_cdef)
  const changed = (digit: string, at: number) => `${id.slice(0, at)}${digit === 'f' ? 'e' : 'f'}${id.slice(at + 1)}`
  const others = Array.from(id, changed)
  const digits = others.filter((_, at) => id[at] !== '-')

  for (let at = 0; at < 9; at += 1) expect(ofId(id.toUpperCase(), at)).toBe(ofId(id))
  expect(new Set([id, ...digits].map((other) => ofId(other))).size).toBe(33)
})
