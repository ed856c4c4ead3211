import { addWarnings, namedId, readableId, warn, type Customer, type Row, type Warnings } from '../../model/customer.ts'
import { plainCustomer, recordSchema, rowOf, toCustomer } from '../../model/record.ts'
import type { Forgotten, Suppressed } from '../../privacy/forgotten.ts'
import type { HiddenValues } from '../../privacy/hidden-values.ts'
import { rejectKey, type Reject, CUT_BEGINNING, CUT_MARK } from '../../model/page.ts'
import { storableJson } from '../../text/storable-text.ts'

export type SortOptions = {
  /** The size of their page: in a small page no record needs to be measured. */
  pageBytes: number
  /** Known records, which are stored unchanged, are skipped. */
  known?: KnownRecords | undefined
  /** Hides values that are not stored as sent; known records have none. */
  hidden?: HiddenValues | undefined
  /** Records of forgotten customers are suppressed, whatever is in them. */
  forgotten?: Forgotten | undefined
}

/** Records known from the last reading, by their places. */
type KnownRecords = {
  /** The customer's row number; 0 if the record is not known. */
  readonly rowIds: ArrayLike<number>
  warningsAt(place: number): Warnings
}

/** Characters of JSON above which a record is rejected. */
export const MAX_RECORD_LENGTH = 1024 * 1024

/**
 * Objects and lists within one another above which a record is rejected. SQLite reads JSON of 1,000 levels, jq of 256, DuckDB of 127, and .NET
 * of 64: with more, one customer would end every query that looks into this column, or every reading of an export.
 */
export const MAX_NESTING = 60

export function sortRecords(records: readonly unknown[], { pageBytes, known, hidden, forgotten }: SortOptions) {
  const customers: Customer[] = []
  const places: number[] = []
  const rejects: Reject[] = []
  const suppressed: Suppressed[] = []
  const warnings: Warnings = {}
  const oddities = new Map<number, Warnings>()
  const rowIds = new Uint32Array(records.length)
  const rows: (Row | undefined)[] = []
  const mayBeTooLong = pageBytes > MAX_RECORD_LENGTH
  for (const [position, record] of records.entries()) {
    const rowId = known?.rowIds[position] ?? 0
    const id = rowId === 0 && forgotten !== undefined ? namedId(record) : undefined
    const number = id === undefined ? undefined : forgotten?.(id)
    if (rowId !== 0) {
      rowIds[position] = rowId
      rows.push(undefined)
      addWarnings(warnings, known?.warningsAt(position) ?? {})
    } else if (number !== undefined) {
      // Its id and creation time show the scan where it stands; they are dropped with the page.
      suppressed.push({ position, number })
      rows.push({ ...rowOf(record), id })
    } else {
      const odd: Warnings = {}
      const sorted = sortRecord(record, { position, mayBeTooLong, hidden, warnings: odd })
      addWarnings(warnings, odd)
      if ('payload' in sorted) {
        rejects.push(sorted)
        rows.push({ id: sorted.recordId ?? undefined, createdAt: undefined })
      } else {
        if (Object.keys(odd).length > 0) oddities.set(position, odd)
        customers.push(hidden === undefined ? sorted : hidden.customer(sorted))
        places.push(position)
        rows.push({ id: sorted.id, createdAt: sorted.created_at ?? undefined })
      }
    }
  }
  return { customers, places, rejects, suppressed, warnings, oddities, rowIds, rows }
}

type Sorting = { position: number; mayBeTooLong: boolean; hidden: HiddenValues | undefined; warnings: Warnings }

function sortRecord(record: unknown, { position, mayBeTooLong, hidden, warnings }: Sorting): Customer | Reject {
  const plain = mayBeTooLong ? undefined : plainCustomer(record)
  if (plain !== undefined) return plain
  if (isNestedDeeper(record, MAX_NESTING)) return nestedTooDeeply(record, position)
  const { data, error } = recordSchema.safeParse(record)
  const reasons = (error?.issues ?? []).map(({ path, message }) => ({ field: path.map(String).join('.'), message }))
  if (mayBeTooLong && JSON.stringify(record).length > MAX_RECORD_LENGTH)
    reasons.push({ field: '', message: `is longer than ${MAX_RECORD_LENGTH} characters of JSON` })
  if (data !== undefined && reasons.length === 0) return toCustomer(data, record, warnings)
  const recordId = readableId(record) ?? null
  const payload = JSON.stringify(hidden === undefined ? record : hidden.record(record))
  const cut = cutPayload(payload)
  const readable = storableJson(cut)
  if (readable !== cut) warn(warnings, 'malformed_text')
  return { recordId, key: rejectKey(recordId, payload), position, payload: readable, reasons }
}

function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isNestedDeeper(inner, levels - 1))
}

/** Keeps only the id of its payload: the rest is what programs cannot read. */
function nestedTooDeeply(record: unknown, position: number): Reject {
  const recordId = readableId(record) ?? null
  const payload = JSON.stringify({ id: recordId })
  const reasons = [{ field: '', message: `is nested more than ${MAX_NESTING} levels deep` }]
  return { recordId, key: recordId ?? `nested too deeply at ${position}`, position, payload, reasons }
}

/** How many bytes of a rejected record are kept, and how many characters of a longer one, which is less in every script. */
export const MOST_PAYLOAD_BYTES = 64 * 1024
const BEGINNING = 8192

/** What is stored of a rejected record, given as JSON: all of it, or of a longer one its beginning, in JSON that says so. */
export function cutPayload(payload: string): string {
  const bytes = Buffer.byteLength(payload)
  if (bytes <= MOST_PAYLOAD_BYTES) return payload
  const beginning = payload.slice(0, BEGINNING).toWellFormed()
  const what = `The record has ${bytes} bytes; this is its beginning.`
  return JSON.stringify({ [CUT_MARK]: what, [CUT_BEGINNING]: beginning })
}
