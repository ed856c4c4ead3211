import * as z from 'zod'
import { isStorable, storableJson, storableText } from '../text/storable-text.ts'
import { utcTime } from '../time/moments.ts'
import {
  forEachField,
  TEXT_FIELDS,
  UUID,
  warn,
  type Customer,
  type Row,
  type TextField,
  type Warnings,
} from './customer.ts'

/* A record as sent, and the customer in it. It is rejected only when it cannot be stored; odd values are kept and counted as warnings. */

// JSON numbers that are too large for JavaScript are parsed as Infinity.
const number = z.union([z.number(), z.literal(Infinity), z.literal(-Infinity)])
const text = z.union([z.string().nullable(), number, z.boolean()], 'must be text').optional()
export const recordSchema = z.object(
  { id: z.string('must be a UUID').regex(UUID, 'must be a UUID'), ...forEachField(() => text) },
  'must be an object',
)

/** The customer in a record that is valid by `recordSchema`. Adds its odd values to `warnings`. */
export function toCustomer(record: z.output<typeof recordSchema>, received: unknown, warnings: Warnings): Customer {
  const texts = forEachField((field) => asText(record[field], warnings))
  const created = texts.created_at
  const customer: Customer = {
    ...{ id: record.id.toLowerCase(), ...texts },
    created_at_utc: created === null ? null : utcTime(created),
    extra: unknownFields(Object(received), warnings),
  }
  if (customer.email !== null && !PLAIN_EMAIL.test(customer.email)) warn(warnings, 'odd_email')
  if (created !== null && customer.created_at_utc === null) warn(warnings, 'unreadable_created_at')
  return customer
}

/** The customer in a record without anything odd; undefined for any other, which `recordSchema` judges: for all, a first load takes a tenth more. */
export function plainCustomer(received: unknown): Customer | undefined {
  const record: Partial<Record<string, unknown>> = Object(received)
  if (!isPlain(record) || Object.keys(record).length !== KNOWN_FIELDS.size) return undefined
  const { email, created_at: created } = record
  if (email !== null && !PLAIN_EMAIL.test(email)) return undefined
  const createdAtUtc = created === null ? null : utcTime(created)
  if (created !== null && createdAtUtc === null) return undefined
  return { ...record, id: record.id.toLowerCase(), created_at_utc: createdAtUtc, extra: null }
}

function isPlain(record: Partial<Record<string, unknown>>): record is Pick<Customer, 'id' | TextField> {
  const { id } = record
  return typeof id === 'string' && UUID.test(id) && TEXT_FIELDS.every((field) => isPlainText(record[field]))
}

function isPlainText(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && isStorable(value))
}

const PLAIN_EMAIL = /^[^\s@]+@[^\s@]+$/

/** The row of a record that is known to be valid, without reading its other fields. */
export function rowOf(record: unknown): Row {
  const { id, created_at }: Partial<Record<string, unknown>> = Object(record)
  return { id: typeof id === 'string' ? id.toLowerCase() : undefined, createdAt: asText(created_at, {}) ?? undefined }
}

function asText(value: unknown, warnings: Warnings): string | null {
  if (typeof value === 'string') {
    if (isStorable(value)) return value
    warn(warnings, 'malformed_text')
    return storableText(value)
  }
  if (value === undefined) warn(warnings, 'missing_field')
  if (typeof value !== 'number' && typeof value !== 'boolean') return null
  warn(warnings, 'coerced_to_text')
  if (isImprecise(value)) warn(warnings, 'imprecise_number')
  return String(value)
}

/** Digits beyond 2^53 were already rounded when the JSON was parsed, and a number beyond 10^308 became infinite. */
function isImprecise(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set(['id', ...TEXT_FIELDS])

function unknownFields(record: object, warnings: Warnings): string | null {
  if (Object.keys(record).every((field) => KNOWN_FIELDS.has(field))) return null
  const unknown = Object.entries(record).filter(([field]) => !KNOWN_FIELDS.has(field))
  warn(warnings, 'unknown_field', unknown.length)
  const imprecise = impreciseNumbersIn(unknown.map(([, value]) => value))
  if (imprecise > 0) warn(warnings, 'imprecise_number', imprecise)
  // Sorted, so that a new order of fields is not stored as a change.
  unknown.sort(([a], [b]) => (a < b ? -1 : 1))
  const sent = JSON.stringify(Object.fromEntries(unknown))
  const extra = storableJson(sent)
  if (extra !== sent) warn(warnings, 'malformed_text')
  return extra
}

/** How many numbers in a value, however deep, are not as sent. A record is at most MAX_NESTING levels deep. */
function impreciseNumbersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return isImprecise(value) ? 1 : 0
  return Object.values(value).reduce<number>((count, inner) => count + impreciseNumbersIn(inner), 0)
}
