import * as z from 'zod'
import { isStorable, storableJson, storableText } from '../text/storable-text.ts'
import { utcTime } from '../time/moments.ts'

/* The definition of a customer. A record is rejected only when it cannot be stored; odd values are kept as sent and counted as warnings. */

/** The documented text fields beside `id`, under their documented names. */
export const TEXT_FIELDS = [
  'name',
  'username',
  'email',
  'phone',
  'address',
  'company_name',
  'language',
  'timezone',
  'created_at',
] as const
export type TextField = (typeof TEXT_FIELDS)[number]

/** One valid record: the documented fields as sent (missing and null are both null), and fields derived from them. */
export type Customer = { id: string } & Record<TextField, string | null> & {
    /** `created_at` in UTC as `YYYY-MM-DD HH:MM:SS`; null when it cannot be read, also by readers. */
    created_at_utc: string | null
    /** JSON object of the fields the specification does not know; null when there are none. */
    extra: string | null
  }

export const WARNING_MEANINGS = {
  missing_field: 'documented fields that a record does not have',
  unknown_field: 'fields that the specification does not know, kept in extra',
  coerced_to_text: 'documented fields that came as a number or a boolean, stored as text',
  imprecise_number: 'numbers beyond 2^53, which were rounded when they were read',
  malformed_text: 'texts that were made readable: half a surrogate pair, and U+0000, became U+FFFD',
  odd_email: 'e-mail addresses without exactly one @ between other characters, or with spaces',
  unreadable_created_at: 'created_at that is no time from 0001-01-02 to 9999-12-30, so that created_at_utc is NULL',
  conflicting_duplicate: 'records of a customer that the run had read already, with other values',
}
export type WarningKind = keyof typeof WARNING_MEANINGS
export const WARNING_KINDS = Object.keys(WARNING_MEANINGS).filter(
  (kind): kind is WarningKind => kind in WARNING_MEANINGS,
)
/** How many records or fields showed each oddity. */
export type Warnings = Partial<Record<WarningKind, number>>

/** What shows where a record stands in the list. */
export type Row = {
  /** Lower case; undefined when the record has no readable id. */
  readonly id: string | undefined
  /** As sent; undefined when missing. */
  readonly createdAt: string | undefined
  /** The number of its stored row: cheaper to compare than an id. Below 0 it stands for a row that is not stored. */
  readonly rowId?: number | undefined
}

export function addWarnings(into: Warnings, from: Warnings): void {
  for (const kind of WARNING_KINDS) if (from[kind] !== undefined) warn(into, kind, from[kind])
}

export function warn(warnings: Warnings, kind: WarningKind, count = 1): void {
  warnings[kind] = (warnings[kind] ?? 0) + count
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const UUIDS_IN_ANY_FORM = /([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})/gi

/** The id of a record in lower case; undefined where it is no UUID. */
export function readableId(record: unknown): string | undefined {
  const { id }: Partial<Record<string, unknown>> = Object(record)
  return typeof id === 'string' && UUID.test(id) ? id.toLowerCase() : undefined
}

/** The same of an id that holds a UUID in a form that makes the record a reject, such as one in braces or without dashes. */
export function namedId(record: unknown): string | undefined {
  const { id }: Partial<Record<string, unknown>> = Object(record)
  return typeof id === 'string' ? uuidsIn(id)[0] : undefined
}

/** Every UUID in a text, in lower case with dashes, whatever form it has there. */
export function uuidsIn(text: string): string[] {
  return Array.from(text.matchAll(UUIDS_IN_ANY_FORM), (match) => match.slice(1).join('-').toLowerCase())
}

export function forEachField<Of>(make: (field: TextField) => Of): Record<TextField, Of>
export function forEachField(make: (field: TextField) => unknown): Record<string, unknown> {
  return Object.fromEntries(TEXT_FIELDS.map((field) => [field, make(field)]))
}

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
