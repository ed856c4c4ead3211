import { createHash } from 'node:crypto'
import * as z from 'zod'
import { addWarnings, idSchema, recordSchema, rowOf, toCustomer, type Customer, type Warnings } from '../customer.ts'
import { cutPayload } from './cut-payload.ts'
import type { Fingerprint } from '../fingerprint.ts'
import { UNKNOWN } from '../list-as-read.ts'
import type { Reject, Sorted, SortedRow } from '../sorted-page.ts'

/** What is known of records that came before. */
export type RecordMemory = {
  recordOf(fingerprint: number, idFingerprint: number): { rowId: number; place: number } | undefined
  oddityAt(place: number): Warnings | undefined
}

export type SortOptions = {
  /** The size of the page they came in, which spares measuring each record of a small page. */
  pageBytes: number
  /** Marks each record, so that it can be known again; without it none is. */
  fingerprint?: Fingerprint | undefined
  /** Records that are known to be stored as they came need not be checked again. */
  memory?: RecordMemory | undefined
}

/** Characters of JSON above which a record is rejected. */
export const MAX_RECORD_LENGTH = 1024 * 1024

/** Sorts the records of one page, in order. */
export function sortRecords(records: readonly unknown[], options: SortOptions): Sorted {
  const { pageBytes, fingerprint, memory } = options
  const sorted = nothingSorted()
  const mayBeTooLong = pageBytes > MAX_RECORD_LENGTH
  records.forEach((record, position) => {
    try {
      const marks = fingerprint === undefined ? NOT_MARKED : marksOf(record, fingerprint)
      const known = memory?.recordOf(marks.fingerprint, marks.idFingerprint)
      if (known === undefined) sortRecord(record, { position, mayBeTooLong, marks }, sorted)
      else keepKnown(record, { ...marks, ...known, warnings: memory?.oddityAt(known.place) }, sorted)
    } catch (error) {
      // The stack overflowed: JSON can be nested deeper than it can be written again.
      if (!(error instanceof RangeError)) throw error
      addReject(nestedTooDeeply(record, position), sorted)
    }
  })
  // The first record of an id counts. One that is known and one that is new do not say which came first.
  if (sorted.known.length === 0 || sorted.customers.length === 0) return sorted
  const read = new Set(sorted.customers.map(({ id }) => id))
  const isTwice = sorted.rows.some(({ id = '', rowId }) => rowId !== undefined && read.has(id))
  return isTwice ? sortRecords(records, { pageBytes, fingerprint }) : sorted
}

type Sorting = {
  known: number[]
  customers: Customer[]
  places: number[]
  rejects: Reject[]
  warnings: Warnings
  rows: SortedRow[]
}

function nothingSorted(): Sorting {
  return { known: [], customers: [], places: [], rejects: [], warnings: {}, rows: [] }
}

/** What it takes to know a record again. */
type Marks = { fingerprint: number; idFingerprint: number }

const NOT_MARKED: Marks = { fingerprint: UNKNOWN, idFingerprint: UNKNOWN }

function marksOf(record: unknown, fingerprint: Fingerprint): Marks {
  const { id }: { id?: unknown } = Object(record)
  return { fingerprint: fingerprint(record), idFingerprint: typeof id === 'string' ? fingerprint(id) : UNKNOWN }
}

function keepKnown(record: unknown, known: Marks & Pick<SortedRow, 'warnings'> & { rowId: number }, sorted: Sorting) {
  const { rowId, fingerprint, idFingerprint, warnings } = known
  const { id, createdAt } = rowOf(record)
  sorted.known.push(rowId)
  sorted.rows.push({ id, createdAt, rowId, fingerprint, idFingerprint, warnings })
  if (warnings !== undefined) addWarnings(sorted.warnings, warnings)
}

type Looking = { position: number; mayBeTooLong: boolean; marks: Marks }

function sortRecord(record: unknown, { position, mayBeTooLong, marks }: Looking, sorted: Sorting): void {
  const result = recordSchema.safeParse(record)
  const tooLong = mayBeTooLong && JSON.stringify(record).length > MAX_RECORD_LENGTH
  if (!result.success || tooLong) return addReject(toReject(record, position, result.error, tooLong), sorted)
  const warnings: Warnings = {}
  const customer = toCustomer(result.data, record, warnings)
  const isOdd = Object.keys(warnings).length > 0
  if (isOdd) addWarnings(sorted.warnings, warnings)
  sorted.customers.push(customer)
  sorted.places.push(position)
  sorted.rows.push({
    id: customer.id,
    createdAt: customer.created_at ?? undefined,
    rowId: undefined,
    fingerprint: marks.fingerprint,
    idFingerprint: marks.idFingerprint,
    warnings: isOdd ? warnings : undefined,
  })
}

function addReject(reject: Reject, sorted: Sorting): void {
  sorted.rejects.push(reject)
  const id = reject.recordId ?? undefined
  sorted.rows.push({ ...NOT_MARKED, id, createdAt: undefined, rowId: undefined, warnings: undefined })
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
