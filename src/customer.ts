import { createHash } from 'node:crypto'
import * as z from 'zod'
import { utcTime } from './calendar.ts'

/**
 * What a customer is, and how received records are sorted into customers and rejects. A record is rejected only when it
 * cannot be kept; whatever is merely odd is kept as it was sent and counted as a warning.
 */

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

/** One valid record: the documented fields as sent (missing and null are both null), and what is derived from them. */
export type Customer = { id: string } & Record<TextField, string | null> & {
    /** `created_at` in UTC as `YYYY-MM-DD HH:MM:SS`; null when it cannot be read. */
    created_at_utc: string | null
    /** JSON object of the fields the specification does not know; null when there are none. */
    extra: string | null
  }

/** A received record that is not a valid customer, kept with its reasons. */
export type Reject = {
  /** Lower-case UUID, when one could be read: its customer then counts as seen. */
  recordId: string | null
  /** The same record seen again has the same key: its id, or a digest of its payload. */
  key: string
  /** Index within the page, from 0. */
  position: number
  /** The record as JSON. */
  payload: string
  reasons: { field: string; message: string }[]
}

/** Oddities that are kept. */
const WARNING_KINDS = [
  'missing_field',
  'unknown_field',
  'coerced_to_text',
  'imprecise_number',
  'malformed_text',
  'odd_email',
  'unreadable_created_at',
  'conflicting_duplicate',
] as const
export type WarningKind = (typeof WARNING_KINDS)[number]
/** How many records or fields showed each oddity. */
export type Warnings = Partial<Record<WarningKind, number>>

/** A record's place in the listing: who stands there, if it can be read, and its `created_at`. */
export type Row = { id: string | undefined; createdAt: string | undefined }

export type Sorted = { customers: Customer[]; rejects: Reject[]; warnings: Warnings; rows: Row[] }

/** Characters of JSON above which a record is rejected. */
export const MAX_RECORD_LENGTH = 1024 * 1024

/**
 * Sorts the records of one page, in order, into customers and rejects; every record ends in exactly one of the two.
 * `pageBytes`, the size of the page they came in, spares measuring each record of a small page.
 */
export function sortRecords(records: readonly unknown[], { pageBytes }: { pageBytes: number }): Sorted {
  const sorted: Sorted = { customers: [], rejects: [], warnings: {}, rows: [] }
  const mayBeTooLong = pageBytes > MAX_RECORD_LENGTH
  records.forEach((record, position) => {
    try {
      sortRecord(record, position, sorted, { mayBeTooLong })
    } catch (error) {
      // The stack overflowed: JSON can be nested deeper than it can be written again.
      if (!(error instanceof RangeError)) throw error
      addReject(nestedTooDeeply(record, position), sorted)
    }
  })
  return sorted
}

function sortRecord(record: unknown, position: number, sorted: Sorted, { mayBeTooLong }: { mayBeTooLong: boolean }) {
  const result = recordSchema.safeParse(record)
  const tooLong = mayBeTooLong && JSON.stringify(record).length > MAX_RECORD_LENGTH
  if (!result.success || tooLong) return addReject(toReject(record, position, result.error, tooLong), sorted)
  const customer = toCustomer(result.data, record, sorted.warnings)
  sorted.customers.push(customer)
  sorted.rows.push({ id: customer.id, createdAt: customer.created_at ?? undefined })
}

function addReject(reject: Reject, sorted: Sorted): void {
  sorted.rejects.push(reject)
  sorted.rows.push({ id: reject.recordId ?? undefined, createdAt: undefined })
}

/** Adds the counts of `from` to `into`. */
export function addWarnings(into: Warnings, from: Warnings): void {
  for (const kind of WARNING_KINDS) if (from[kind] !== undefined) warn(into, kind, from[kind])
}

/** Adds `count` warnings of one kind. */
export function warn(warnings: Warnings, kind: WarningKind, count = 1): void {
  warnings[kind] = (warnings[kind] ?? 0) + count
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const idSchema = z.string('must be a UUID').regex(UUID, 'must be a UUID')
// JSON can hold numbers too great for a number here; they are read as infinite.
const numberSchema = z.union([z.number(), z.literal(Infinity), z.literal(-Infinity)])
const textSchema = z.union([z.string(), z.null(), numberSchema, z.boolean()], 'must be text').optional()
const recordSchema = z.object(
  {
    id: idSchema,
    name: textSchema,
    username: textSchema,
    email: textSchema,
    phone: textSchema,
    address: textSchema,
    company_name: textSchema,
    language: textSchema,
    timezone: textSchema,
    created_at: textSchema,
  } satisfies Record<'id' | TextField, z.ZodType>,
  'must be an object',
)
type Documented = z.output<typeof recordSchema>

function toCustomer(record: Documented, received: unknown, warnings: Warnings): Customer {
  const created = asText(record.created_at, warnings)
  const customer: Customer = {
    id: record.id.toLowerCase(),
    name: asText(record.name, warnings),
    username: asText(record.username, warnings),
    email: asText(record.email, warnings),
    phone: asText(record.phone, warnings),
    address: asText(record.address, warnings),
    company_name: asText(record.company_name, warnings),
    language: asText(record.language, warnings),
    timezone: asText(record.timezone, warnings),
    created_at: created,
    created_at_utc: created === null ? null : utcTime(created),
    extra: unknownFields(Object(received), warnings),
  }
  if (customer.email !== null && !PLAIN_EMAIL.test(customer.email)) warn(warnings, 'odd_email')
  if (created !== null && customer.created_at_utc === null) warn(warnings, 'unreadable_created_at')
  return customer
}

const PLAIN_EMAIL = /^[^\s@]+@[^\s@]+$/

function asText(value: string | number | boolean | null | undefined, warnings: Warnings): string | null {
  if (typeof value === 'string') {
    if (value.isWellFormed()) return value
    warn(warnings, 'malformed_text')
    return value.toWellFormed()
  }
  if (value === null) return null
  if (value === undefined) {
    warn(warnings, 'missing_field')
    return null
  }
  warn(warnings, 'coerced_to_text')
  // Digits beyond 2^53 were already rounded when the JSON was read.
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) warn(warnings, 'imprecise_number')
  return String(value)
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set(['id', ...TEXT_FIELDS])

function unknownFields(record: object, warnings: Warnings): string | null {
  let unknown: [string, unknown][] | undefined
  for (const field of Object.keys(record)) {
    if (KNOWN_FIELDS.has(field)) continue
    unknown ??= []
    unknown.push([field, Reflect.get(record, field)])
  }
  if (unknown === undefined) return null
  warn(warnings, 'unknown_field', unknown.length)
  // Sorted, so that a service that reorders its fields does not look as if it had changed them.
  unknown.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${unknown.map(([field, value]) => `${JSON.stringify(field)}:${JSON.stringify(value)}`).join(',')}}`
}

function toReject(record: unknown, position: number, error: z.ZodError | undefined, tooLong: boolean): Reject {
  const payload = JSON.stringify(record)
  const reasons = (error?.issues ?? []).map(({ path, message }) => ({ field: path.map(String).join('.'), message }))
  if (tooLong) reasons.push({ field: '', message: `is longer than ${MAX_RECORD_LENGTH} characters of JSON` })
  const recordId = readableId(record)
  return {
    recordId,
    key: recordId ?? createHash('sha256').update(payload).digest('hex'),
    position,
    payload,
    reasons,
  }
}

/** Of its payload only the id is kept: the rest cannot be written down. */
function nestedTooDeeply(record: unknown, position: number): Reject {
  const recordId = readableId(record)
  const payload = JSON.stringify({ id: recordId })
  const reasons = [{ field: '', message: 'is nested too deeply to be kept' }]
  return { recordId, key: recordId ?? `nested too deeply at ${position}`, position, payload, reasons }
}

function readableId(record: unknown): string | null {
  const result = identified.safeParse(record)
  return result.success ? result.data.id.toLowerCase() : null
}
const identified = z.object({ id: idSchema })
