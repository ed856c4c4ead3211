import { expect, test } from 'vitest'
import { CUT_BEGINNING, CUT_MARK } from '../../../src/model/page.ts'
import { sortRecords, cutPayload, MOST_PAYLOAD_BYTES } from '../../../src/sync/sorting/sort-records.ts'
import { aRecord } from '../../support/fault-server.ts'

const MIB = 1024 * 1024
const LONG = MIB / 4
const cut = (record: unknown) => cutPayload(JSON.stringify(record))
const bytesOf = (text: string) => Buffer.byteLength(text)

test('a record of 64 KiB is kept as it is, and one byte more is cut', () => {
  const most = { name: 'x'.repeat(MOST_PAYLOAD_BYTES - '{"name":""}'.length) }
  expect(cut(most)).toBe(JSON.stringify(most))
  expect(JSON.parse(cut({ name: `${most.name}x` }))).toHaveProperty(CUT_MARK)
})

test.each<[string, unknown]>([
  ['one long field', { id: 7, name: 'x'.repeat(LONG), email: 'a@example.com' }],
  ['text of two bytes each', { id: 7, name: 'é'.repeat(LONG) }],
  ['text that is escaped', { id: 7, name: '\u0000'.repeat(LONG) }],
  ['text of pairs', { id: 7, name: `x${'\u{1f600}'.repeat(LONG)}` }],
  ['lone halves of pairs', { id: 7, name: '\ud83d'.repeat(LONG) }],
  ['many fields', Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`field ${index}`, 'some text']))],
  ['a long name of a field', { id: 7, ['n'.repeat(LONG)]: 1 }],
  ['a long list in a field', { id: 7, tags: Array.from({ length: 30_000 }, (_, index) => index) }],
  ['a field named __proto__', JSON.parse(`{"id":7,"__proto__":{"a":1},"name":"${'x'.repeat(LONG)}"}`)],
  ['a long text', 'x'.repeat(LONG)],
  ['a long list', Array.from({ length: 30_000 }, (_, index) => index)],
])('%s: what is kept is at most 64 KiB of JSON, and says what was cut', (_, record) => {
  const payload = cut(record)
  expect(bytesOf(payload)).toBeLessThanOrEqual(MOST_PAYLOAD_BYTES)
  expect(payload.isWellFormed()).toBe(true)
  const kept = JSON.parse(payload)
  expect(JSON.stringify(record).toWellFormed()).toContain(kept[CUT_BEGINNING].slice(0, 8000))
  expect(kept[CUT_MARK]).toContain(`has ${bytesOf(JSON.stringify(record))} bytes`)
})

test('a reject keeps its reasons, and two that differ only in what is cut stay two', () => {
  const anonymous = (end: string) => ({ ...aRecord(1), id: 'none', name: 'x'.repeat(100_000) + end })
  const records = [anonymous('a'), anonymous('b'), { ...aRecord(2), name: 'x'.repeat(2 * MIB) }]
  const { rejects } = sortRecords(records, { pageBytes: 3 * MIB })
  expect(rejects.map(({ reasons }) => reasons.map(({ field }) => field))).toEqual([['id'], ['id'], ['']])
  expect(rejects[2]?.reasons[0]?.message).toContain('is longer than')
  expect(rejects[0]?.payload).toBe(rejects[1]?.payload)
  expect(rejects[0]?.key).not.toBe(rejects[1]?.key)
  for (const { payload } of rejects) expect(bytesOf(payload)).toBeLessThanOrEqual(MOST_PAYLOAD_BYTES)
})
