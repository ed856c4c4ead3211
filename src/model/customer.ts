/* The definition of a customer. */

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

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
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
