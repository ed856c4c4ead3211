import { emptyColumns, type ListAsRead, type ListColumns, type ListedWindow } from '../../list/list-as-read.ts'
import { FINGERPRINT_STEPS } from '../../list/fingerprint.ts'
import { readLaterOrder } from '../../list/later-order.ts'
import { readOrderFacts } from '../../list/order-facts.ts'
import { TEXT_FIELDS, type Warnings } from '../../customer.ts'
import { version } from '../../version.ts'

/*
 * How the list of an organization is stored, in every store: in chunks of so many customers, and in windows.
 */

/** The number of customers in a stored chunk of the list. */
const CHUNK = 4096

/** A program with other fields stores the same record in another way, so it reads every record again; so does one with other fingerprints. */
export const READER = `${version()} ${FINGERPRINT_STEPS} ${TEXT_FIELDS.join(' ')}`

/** A chunk as it is stored: the bytes of each column. */
export type StoredChunk = { chunk: number } & Record<
  'row_ids' | 'fingerprints' | 'id_fingerprints' | 'comparisons' | 'oddities',
  Buffer
>

/** What is stored of a list as a whole. */
export type StoredList = { customers: number; warnings: string; order_facts: string | null; later_order: string | null }

/** A stored list, of its parts. */
export function listIn(stored: StoredList, columns: ListColumns, windows: ListedWindow[]): ListAsRead {
  const warnings: Warnings[] = JSON.parse(stored.warnings)
  const order = readOrderFacts(stored.order_facts)
  return { columns, windows, warnings, order, later: readLaterOrder(stored.later_order) }
}

/** The columns of a list of `customers` in stored chunks; undefined if they are damaged. */
export function columnsIn(chunks: Iterable<StoredChunk>, customers: number): ListColumns | undefined {
  const columns = emptyColumns(customers)
  let copied = 0
  for (const chunk of chunks) copied += copyChunk(chunk, columns)
  return copied === customers ? columns : undefined
}

/** Copies a chunk; the number of customers copied, 0 if the chunk does not fit. */
function copyChunk({ chunk, ...stored }: StoredChunk, columns: ListColumns): number {
  const at = chunk * CHUNK
  const count = stored.oddities.length
  if (at + count > columns.rowIds.length) return 0
  const copied = [
    [stored.row_ids, columns.rowIds],
    [stored.fingerprints, columns.fingerprints],
    [stored.id_fingerprints, columns.idFingerprints],
    [stored.comparisons, columns.comparisons],
    [stored.oddities, columns.oddities],
  ] as const
  if (copied.some(([bytes, column]) => bytes.length !== count * column.BYTES_PER_ELEMENT)) return 0
  for (const [bytes, column] of copied) bytesOf(column).set(bytes, at * column.BYTES_PER_ELEMENT)
  return count
}

/** What is stored, and what shall be. */
export type Change<Value> = { before: Value; after: Value }

/** How many chunks the list has. */
export function chunkCount(columns: ListColumns): number {
  return Math.ceil(columns.rowIds.length / CHUNK)
}

/** The chunks that are not stored as they shall be; the columns in the order of `StoredChunk`. */
export function* changedChunks({
  before,
  after,
}: Change<ListColumns>): Generator<{ chunk: number; columns: readonly Buffer[] }> {
  const chunks = chunkCount(after)
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const [was, is] = [chunkOf(before, chunk), chunkOf(after, chunk)]
    if (!is.every((column, place) => column.equals(was[place] ?? NO_BYTES))) yield { chunk, columns: is }
  }
}

const NO_BYTES = Buffer.alloc(0)

/** The columns of one chunk, as they are stored. */
function chunkOf(columns: ListColumns, chunk: number): Buffer[] {
  const { rowIds, fingerprints, idFingerprints, comparisons, oddities } = columns
  const [from, to] = [chunk * CHUNK, (chunk + 1) * CHUNK]
  return [rowIds, fingerprints, idFingerprints, comparisons, oddities].map((column) =>
    bytesOf(column.subarray(from, to)),
  )
}

/** The bytes of a column: little-endian, as on all supported machines. */
function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** The windows that are not stored as they shall be, each with its number. */
export function* changedWindows({
  before,
  after,
}: Change<readonly ListedWindow[]>): Generator<ListedWindow & { number: number }> {
  for (const [number, { place, count, digest, outline }] of after.entries()) {
    const was = before[number]
    if (was?.digest === digest && was.place === place && was.count === count && was.outline === outline) continue
    yield { number, place, count, digest, outline }
  }
}
