import { createHash } from 'node:crypto'
import * as z from 'zod'
import {
  addWarnings,
  idSchema,
  recordSchema,
  rowOf,
  toCustomer,
  type Customer,
  type Row,
  type Warnings,
} from './customer.ts'
import { cutPayload } from './cut-payload.ts'
import type { Fingerprint } from './fingerprint.ts'
import type { KnownPage, RememberedPage, RememberedRow } from './remembered-page.ts'

/** A received record that is not a valid customer, kept with its reasons. */
export type Reject = {
  /** Lower-case UUID, when one could be read: its customer then counts as seen. */
  recordId: string | null
  /** The same record seen again has the same key: its id, or a digest of its payload. */
  key: string
  /** Index within the page, from 0. */
  position: number
  /** The record as JSON, cut where it is long. */
  payload: string
  reasons: { field: string; message: string }[]
}

/** A record's place in the listing, what it takes to know the record again, and its customer's row where that is known. */
export type SortedRow = Row & {
  rowId?: number | undefined
  fingerprint?: number | undefined
  warnings?: Warnings | undefined
  /** It came as its customer is stored. */
  isKept?: boolean | undefined
}

/** The records of one page. Each is in exactly one of `recalled`, `customers` and `rejects`. */
export type Sorted = {
  /** The customers of those that are as remembered, by their rows. */
  recalled: readonly number[]
  customers: Customer[]
  rejects: Reject[]
  warnings: Warnings
  /** All of them in order. On a page that is known, most are no more than the row of their customer. */
  rows: readonly (SortedRow | number)[]
}

type Sorting = Omit<Sorted, 'recalled' | 'rows'> & { recalled: number[]; rows: SortedRow[] }

export type SortOptions = {
  /** The size of the page they came in, which spares measuring each record of a small page. */
  pageBytes: number
  /** Records that need not be looked at again when they come as they were: of this page, and of those around. */
  remembered?: Pick<RememberedPage, 'rows' | 'findMoved' | 'idsOf'> | undefined
  /** Marks each row with what it takes to know its record again; without it, no row is marked and no record is known. */
  fingerprint?: Fingerprint | undefined
}

/** Characters of JSON above which a record is rejected. */
export const MAX_RECORD_LENGTH = 1024 * 1024

/** Sorts the records of one page, in order. */
export function sortRecords(records: readonly unknown[], options: SortOptions): Sorting {
  const { pageBytes, remembered, fingerprint } = options
  const sorted = nothingSorted()
  const marks = fingerprint === undefined ? [] : records.map((record) => markOf(record, fingerprint))
  const known = remembered === undefined ? [] : findKnown(records, marks, remembered)
  const mayBeTooLong = pageBytes > MAX_RECORD_LENGTH
  records.forEach((record, position) => {
    try {
      const mark = marks[position]
      const before = known[position]
      if (before === undefined) sortRecord(record, position, sorted, { mayBeTooLong, mark })
      else recall(before, record, sorted)
    } catch (error) {
      // The stack overflowed: JSON can be nested deeper than it can be written again.
      if (!(error instanceof RangeError)) throw error
      addReject(nestedTooDeeply(record, position), sorted)
    }
  })
  // Of an id that comes twice the first counts, which is not told when one of them is recalled and the other is new.
  if (sorted.recalled.length === 0 || sorted.customers.length === 0) return sorted
  const anew = new Set(sorted.customers.map(({ id }) => id))
  const isTwice = sorted.rows.some(({ id = '', isKept }) => isKept === true && anew.has(id))
  return isTwice ? sortRecords(records, { pageBytes, fingerprint }) : sorted
}

/** Undefined for a record that is nested too deeply to be written, and so cannot be known again. */
function markOf(record: unknown, fingerprint: Fingerprint): number | undefined {
  try {
    return fingerprint(record)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return undefined
  }
}

/**
 * The rows of the records that are known, by position: a fingerprint finds the row, on the page or on those around, and the
 * id of that row, as the mirror has it now, must be the one the record carries. So a record whose fingerprint is that of
 * another customer, by chance or by a writer who has learned the key, is still not taken for that customer.
 */
function findKnown(
  records: readonly unknown[],
  marks: readonly (number | undefined)[],
  remembered: NonNullable<SortOptions['remembered']>,
): (RememberedRow | undefined)[] {
  const here = new Map<number, RememberedRow>()
  for (const row of remembered.rows()) here.set(row.fingerprint, row)
  const found = marks.map((mark) => (mark === undefined ? undefined : (here.get(mark) ?? remembered.findMoved(mark))))
  const ids = remembered.idsOf(found.flatMap((row) => row?.rowId ?? []))
  return found.map((row, position) => {
    const id = row === undefined ? undefined : ids.get(row.rowId)
    return id !== undefined && id === rowOf(records[position]).id ? row : undefined
  })
}

/** What sorting the records of a page that is known would give. */
export function recallSorted({ rowIds, ends: [first, last], warnings: odd }: KnownPage): Sorted {
  const rows: (SortedRow | number)[] = [...rowIds]
  const keep = (row: Row, rowId: number | undefined) => ({ ...row, rowId, isKept: true })
  if (rows.length > 0) {
    rows[0] = keep(first, rowIds[0])
    rows[rows.length - 1] = keep(last, rowIds.at(-1))
  }
  const warnings: Warnings = {}
  for (const more of odd) addWarnings(warnings, more)
  return { ...nothingSorted(), recalled: rowIds, warnings, rows }
}

function nothingSorted(): Sorting {
  return { recalled: [], customers: [], rejects: [], warnings: {}, rows: [] }
}

function recall(before: RememberedRow, record: unknown, sorted: Sorting): void {
  const { rowId, warnings } = before
  const { id, createdAt } = rowOf(record)
  sorted.recalled.push(rowId)
  sorted.rows.push({ id, createdAt, rowId, fingerprint: before.fingerprint, warnings, isKept: true })
  if (warnings !== undefined) addWarnings(sorted.warnings, warnings)
}

type Looking = { mayBeTooLong: boolean; mark: number | undefined }

function sortRecord(record: unknown, position: number, sorted: Sorting, { mayBeTooLong, mark }: Looking): void {
  const result = recordSchema.safeParse(record)
  const tooLong = mayBeTooLong && JSON.stringify(record).length > MAX_RECORD_LENGTH
  if (!result.success || tooLong) return addReject(toReject(record, position, result.error, tooLong), sorted)
  const warnings: Warnings = {}
  const customer = toCustomer(result.data, record, warnings)
  const isOdd = Object.keys(warnings).length > 0
  if (isOdd) addWarnings(sorted.warnings, warnings)
  sorted.customers.push(customer)
  const createdAt = customer.created_at ?? undefined
  sorted.rows.push({
    id: customer.id,
    createdAt,
    fingerprint: mark,
    warnings: isOdd && mark !== undefined ? warnings : undefined,
  })
}

function addReject(reject: Reject, sorted: Sorting): void {
  sorted.rejects.push(reject)
  sorted.rows.push({ id: reject.recordId ?? undefined, createdAt: undefined })
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
    payload: cutPayload(record, payload),
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
