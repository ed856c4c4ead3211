import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import { sortRecords } from '../../src/sync/sorting/sort-records.ts'
import { storableJson } from '../../src/text/storable-text.ts'
import { aCustomer } from '../support/builders.ts'
import { anyCodePoint } from '../support/seeds.ts'

const sort = (...records: unknown[]) => sortRecords(records, { pageBytes: JSON.stringify(records).length })

/** Records of every shape: plain JSON, and customers with parts of them replaced by anything JSON can hold. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
  .map((units) => String.fromCharCode(...units))
const anyValue = fc.oneof(anyText, fc.jsonValue(), fc.double({ noNaN: true }), fc.constant(null))
const aUuid = fc.uuid()
const anyId = fc.oneof(
  aUuid,
  aUuid.map((id) => id.toUpperCase()),
  anyValue,
)
const nearlyACustomer = fc
  .tuple(
    fc.record({ id: anyId }, { requiredKeys: [] }),
    fc.dictionary(fc.constantFrom(...TEXT_FIELDS), fc.oneof(anyText, anyValue)),
    fc.dictionary(fc.oneof(fc.constantFrom('__proto__', 'extra', 'row_id', 'toString'), fc.string()), anyValue, {
      maxKeys: 3,
    }),
  )
  .map(([id, fields, unknown]) => ({ ...unknown, ...fields, ...id }))
/** What arrives has been JSON: a record that is not, cannot. */
const received = fc.oneof(fc.jsonValue(), nearlyACustomer).map((record): unknown => JSON.parse(JSON.stringify(record)))

test('every record ends in exactly one of customers and rejects, well-formed and under an id in lower case, and its row stands at its position', () => {
  fc.assert(
    fc.property(fc.array(received, { maxLength: 8 }), (records) => {
      const { customers, rejects, rows } = sort(...records)
      const rejectAt = new Map(rejects.map((reject) => [reject.position, reject]))
      const kept = customers.values()

      expect(customers.length + rejects.length).toBe(records.length)
      expect(rejectAt.size).toBe(rejects.length)
      expect(rows).toHaveLength(records.length)
      records.forEach((record, position) => {
        const reject = rejectAt.get(position)
        const customer = reject === undefined ? kept.next().value : undefined
        expect(rows[position]?.id).toBe(reject === undefined ? customer?.id : (reject.recordId ?? undefined))
        expect(rows[position]?.createdAt).toBe(customer?.created_at ?? undefined)
        if (reject !== undefined) expect(reject.payload).toBe(storableJson(JSON.stringify(record)))
        if (reject !== undefined) expect(reject.reasons).not.toEqual([])
        expect(rows[position]?.id).toBe(rows[position]?.id?.toLowerCase())
        for (const text of [reject?.payload, ...Object.values(customer ?? {})])
          expect(text?.isWellFormed()).not.toBe(false)
      })
    }),
  )
})

test('well-formed text in a documented field is never altered', () => {
  fc.assert(
    fc.property(fc.constantFrom(...TEXT_FIELDS), fc.string({ unit: anyCodePoint }), (field, text) => {
      expect(sort(aCustomer(1, { [field]: text })).customers[0]?.[field]).toBe(text)
    }),
  )
})

test('unknown fields come back as they were sent', () => {
  const unknownName = fc.string().filter((name) => name !== 'id' && TEXT_FIELDS.every((field) => field !== name))
  fc.assert(
    fc.property(fc.dictionary(unknownName, fc.jsonValue(), { minKeys: 1 }), (unknown) => {
      const sent: Record<string, unknown> = JSON.parse(JSON.stringify(unknown))
      const [customer] = sort({ ...aCustomer(1), ...sent }).customers

      expect(JSON.parse(customer?.extra ?? 'null')).toEqual(sent)
    }),
  )
})
