import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { aCustomer, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, valueOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

const LATER = { atMs: START_MS + MINUTE_MS }

test.each([
  ['an emoji of several code points', '👩‍👩‍👧‍👦'],
  ['letters with and without composed accents', 'é e\u0301'],
  ['right to left', 'שלום \u202e abc'],
  ['a byte order mark', '\ufeffname'],
  ['a noncharacter', '\uffff'],
  ['quotes and SQL', `'; DROP TABLE customers; -- "`],
  ['line ends', 'one\r\ntwo\u2028three'],
])('text comes through byte for byte: %s', async (_, text) => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[aCustomer(1, { address: text })]])

  expect(valueOf(mirror.file, 'SELECT hex(CAST(address AS BLOB)) FROM customers')).toBe(hexOf(text))
  expect(await mirrorPages(mirror, [[aCustomer(1, { address: text })]], LATER)).toMatchObject({ unchanged: 1 })
})

test('any text comes through byte for byte, and is the same text the next time', async () => {
  const mirror = await aMirror()
  const units = fc.array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7f0, max: 0xe010 })))
  const texts = fc.sample(
    units.map((codes) => String.fromCharCode(...codes)),
    { numRuns: seeds(300), seed: 20260105 },
  )
  const page = texts.map((name, index) => aCustomer(index + 1, { name }))

  await mirrorPages(mirror, [page])

  const stored = rowsOf(mirror.file, 'SELECT hex(CAST(name AS BLOB)) AS name FROM customers ORDER BY id')
  expect(stored.map(({ name }) => name)).toEqual(
    texts.map((text) => hexOf(text.toWellFormed().replaceAll('\0', '\ufffd'))),
  )
  expect(await mirrorPages(mirror, [page], LATER)).toMatchObject({ unchanged: texts.length })
})

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex').toUpperCase()
}
