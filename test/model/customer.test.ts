import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import { MAX_NESTING, MAX_RECORD_LENGTH, sortRecords } from '../../src/sync/sorting/sort-records.ts'
import { aCustomer, customerId, type SentRecord } from '../support/builders.ts'

const sort = (...records: unknown[]) => sortRecords(records, { pageBytes: JSON.stringify(records).length })

test('a record as the specification shows it is kept exactly as sent, without a warning, and an id alone makes a customer', () => {
  const { customers, rejects, rows, warnings } = sort(aCustomer(1))

  expect(customers).toEqual([{ ...aCustomer(1), created_at_utc: '2024-01-02 03:04:05', extra: null }])
  expect(rejects).toEqual([])
  expect(rows).toEqual([{ id: customerId(1), createdAt: aCustomer(1)['created_at'] }])
  expect(warnings).toEqual({})

  const least = sort({ id: customerId(1) })
  const nothing = Object.fromEntries([...TEXT_FIELDS, 'created_at_utc', 'extra'].map((field) => [field, null]))
  expect(least.customers[0]).toEqual({ id: customerId(1), ...nothing })
  expect(least.warnings).toEqual({ missing_field: TEXT_FIELDS.length })
})

test.each<[string, unknown, fields: string[], recordId: string | null]>([
  ['null', null, [''], null],
  ['a record without an id', aCustomer(1, { id: undefined }), ['id'], null],
  ['an id that is a number', aCustomer(1, { id: 12 }), ['id'], null],
  ['an id in braces', aCustomer(1, { id: `{${customerId(1)}}` }), ['id'], null],
  ['an id with a line end', aCustomer(1, { id: `${customerId(1)}\n` }), ['id'], null],
  ['two odd fields', aCustomer(1, { phone: [], language: {} }), ['phone', 'language'], customerId(1)],
  ['neither id nor name', { id: [], name: [] }, ['id', 'name'], null],
])('%s cannot be kept: it is rejected, and every reason is named', (_, record, fields, recordId) => {
  const { customers, rejects, rows } = sort(record)

  expect(customers).toEqual([])
  expect(rejects).toHaveLength(1)
  expect(rejects[0]).toMatchObject({ recordId, position: 0, payload: JSON.stringify(record) })
  expect(rejects[0]?.reasons.map(({ field }) => field)).toEqual(fields)
  expect(rejects[0]?.reasons.every(({ message }) => message.startsWith('must be'))).toBe(true)
  expect(rows).toMatchObject([{ id: recordId ?? undefined, createdAt: undefined }])
})

test('a record longer than 1 MiB of JSON is rejected, one of exactly 1 MiB is kept', () => {
  const around = JSON.stringify(aCustomer(1, { address: '' })).length
  const fitting = aCustomer(1, { address: 'x'.repeat(MAX_RECORD_LENGTH - around) })
  const tooLong = aCustomer(2, { address: 'x'.repeat(MAX_RECORD_LENGTH - around + 1) })

  const { customers, rejects } = sort(fitting, tooLong)

  expect(customers.map(({ id }) => id)).toEqual([customerId(1)])
  expect(rejects).toMatchObject([{ recordId: customerId(2), position: 1, reasons: [{ field: '' }] }])
  expect(MAX_RECORD_LENGTH).toBe(1024 * 1024)
})

test.each<[string, SentRecord, Record<string, unknown>, Record<string, number>]>([
  ['a missing field', { phone: undefined }, { phone: null }, { missing_field: 1 }],
  ['null, which the columns can hold', { phone: null }, { phone: null }, {}],
  ['a number for text', { phone: 5550100 }, { phone: '5550100' }, { coerced_to_text: 1 }],
  ['a number beyond 2^53', { phone: 2 ** 60 }, { phone: String(2 ** 60) }, { coerced_to_text: 1, imprecise_number: 1 }],
  ['true for text', { name: true }, { name: 'true' }, { coerced_to_text: 1 }],
  ['an e-mail address without a dot', { email: 'a@localhost' }, { email: 'a@localhost' }, {}],
  ['an e-mail address without @', { email: 'nobody' }, { email: 'nobody' }, { odd_email: 1 }],
  [
    'a date as seconds',
    { created_at: 1704164645 },
    { created_at: '1704164645', created_at_utc: null },
    { coerced_to_text: 1, unreadable_created_at: 1 },
  ],
  [
    'half a surrogate pair in an unknown field, and in its name',
    { 'k\udc00': ['\ud800', '\u{1f600}', String.raw`\ud800`] },
    { extra: JSON.stringify({ 'k\ufffd': ['\ufffd', '\u{1f600}', String.raw`\ud800`] }) },
    { unknown_field: 1, malformed_text: 1 },
  ],
  ['NUL', { name: 'a\0b' }, { name: 'a\ufffdb' }, { malformed_text: 1 }],
  ['unknown fields, in one order', { z: 1, a: [2] }, { extra: '{"a":[2],"z":1}' }, { unknown_field: 2 }],
  [
    'numbers beyond 2^53 deep in an unknown field',
    { links: [{ parent: 2 ** 53 }, -(2 ** 60), 2 ** 53 - 1] },
    { extra: `{"links":[{"parent":${2 ** 53}},${-(2 ** 60)},${2 ** 53 - 1}]}` },
    { unknown_field: 1, imprecise_number: 2 },
  ],
  [
    'a number too great for JavaScript in an unknown field',
    { account: Infinity },
    { extra: '{"account":null}' },
    { unknown_field: 1, imprecise_number: 1 },
  ],
  [
    'our own column names',
    { extra: 1, created_at_utc: 'x' },
    { extra: '{"created_at_utc":"x","extra":1}', created_at_utc: '2024-01-02 03:04:05' },
    { unknown_field: 2 },
  ],
])('%s is kept, and counted when it is odd', (_, overrides, expected, warned) => {
  const { customers, rejects, warnings } = sort(aCustomer(1, overrides))

  expect(rejects).toEqual([])
  expect(customers[0]).toMatchObject(expected)
  expect(warnings).toEqual(warned)
})

test.each([
  ['upper case', '6F9619FF-8B86-D011-B42D-00C04FC964FF'],
  ['version 0', '00000000-0000-0000-0000-000000000000'],
])('a UUID of any version and case is an id, kept in lower case: %s', (_, id) => {
  const { customers, rejects, rows } = sort(aCustomer(1, { id }), { id }, { id, name: [] })

  const kept = id.toLowerCase()
  expect([...customers.map((each) => each.id), rejects[0]?.recordId]).toEqual([kept, kept, kept])
  expect(rows.map((row) => row?.id)).toEqual([kept, kept, kept])
})

test('the same reject has the same key again, and another one another', () => {
  const key = (record: unknown) => sort(record).rejects[0]?.key

  expect(key({ name: 'A' })).toBe(key({ name: 'A' }))
  expect(key({ name: 'A' })).not.toBe(key({ name: 'B' }))
  expect(key(aCustomer(1, { name: {} }))).toBe(customerId(1))
  expect(key(aCustomer(1, { name: [] }))).toBe(customerId(1))
})

test('half a surrogate pair in a reject becomes U+FFFD and is counted; its key is that of the record as sent', () => {
  const { rejects, warnings } = sort({ id: 7, name: '\ud800' })
  const other = sort({ id: 7, name: '\ud801' })

  expect(JSON.parse(rejects[0]?.payload ?? '')).toEqual({ id: 7, name: '\ufffd' })
  expect(warnings).toEqual({ malformed_text: 1 })
  expect(other.rejects[0]?.key).not.toBe(rejects[0]?.key)
})

function nested(levels: number, inner = ''): unknown {
  return JSON.parse(`${'['.repeat(levels)}${inner}${']'.repeat(levels)}`)
}

test('a record nested less deeply than any program reads is kept, with its numbers counted', () => {
  const { customers, warnings } = sort(aCustomer(1, { deep: nested(MAX_NESTING - 1, '9007199254740993') }))

  expect(warnings).toMatchObject({ unknown_field: 1, imprecise_number: 1 })
  const db = new Database(':memory:')
  expect(db.prepare('SELECT json_valid(?)').pluck().get(customers[0]?.extra)).toBe(1)
  db.close()
})

test.each([MAX_NESTING, 1500, 20_000])('a record with %i lists within one another costs itself alone', (levels) => {
  const records = [aCustomer(1), aCustomer(2, { deep: nested(levels) }), aCustomer(3)]

  const { customers: kept, rejects, rows } = sortRecords(records, { pageBytes: 100_000 })

  expect(kept.map(({ id }) => id)).toEqual([customerId(1), customerId(3)])
  expect(rejects).toMatchObject([
    {
      recordId: customerId(2),
      payload: JSON.stringify({ id: customerId(2) }),
      reasons: [{ message: 'is nested more than 60 levels deep' }],
    },
  ])
  expect(rows.map((row) => row?.id)).toEqual([1, 2, 3].map(customerId))
})
