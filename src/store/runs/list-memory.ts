import { type LaterOrder, readLaterOrder } from '../../list/later-order.ts'
import {
  EMPTY_LIST,
  emptyColumns,
  type ListAsRead,
  type ListColumns,
  type ListedWindow,
} from '../../list/list-as-read.ts'
import type { Run } from '../../run.ts'
import { joined, sql, type Sql, text } from '../port/sql.ts'
import { type Session, together } from '../port/store.ts'
import { FINGERPRINT_STEPS } from '../../list/fingerprint.ts'
import { readOrderFacts } from '../../list/order-facts.ts'
import { TEXT_FIELDS, type Warnings } from '../../customer.ts'
import { version } from '../../version.ts'
import { RowSet } from '../../list/row-set.ts'
import { isIn } from '../port/fragments.ts'
import { IS_QUICK } from '../schema/run-conditions.ts'

/** The list of an organization as its last complete run read it; empty if this program has none to rely on. */
export async function loadList(session: Session, organization: string): Promise<ListAsRead> {
  const [list, chunks, windows] = await together(
    session.first<StoredList>(sql`
      SELECT customers, warnings, order_facts, later_order FROM lists WHERE organization = ${organization} AND reader = ${READER}`),
    session.all<StoredChunk>(sql`SELECT * FROM list_chunks WHERE organization = ${organization} ORDER BY chunk`),
    session.all<ListedWindow>(sql`
      SELECT place, count, digest, outline FROM list_windows WHERE organization = ${organization} ORDER BY number`),
  )
  const columns = list && columnsIn(chunks, list.customers)
  // A damaged list is ignored.
  return list === undefined || columns === undefined ? EMPTY_LIST : listIn(list, columns, windows)
}

/** Stores the list of a complete run, in place of the one it began with; unchanged parts are not written. */
export async function storeList(session: Session, run: Run, list: ListAsRead) {
  const { organization, id } = run
  const { columns, windows, warnings, order } = list
  const before = run.list
  await together(
    ...(columns === before.columns
      ? []
      : [storeChunks(session, organization, { before: before.columns, after: columns })]),
    ...(windows === before.windows
      ? []
      : [storeWindows(session, organization, { before: before.windows, after: windows })]),
    session.run(sql`
      INSERT INTO lists (organization, run_id, reader, customers, warnings, order_facts)
      VALUES (${organization}, ${id}, ${READER}, ${columns.rowIds.length}, ${JSON.stringify(warnings)}, ${JSON.stringify(order)})
      ON CONFLICT (organization) DO UPDATE SET run_id = excluded.run_id, reader = excluded.reader, customers = excluded.customers,
        warnings = excluded.warnings, order_facts = excluded.order_facts, later_order = NULL`),
    forgetEdits(session, run),
  )
}

async function storeChunks(session: Session, organization: string, change: Change<ListColumns>) {
  const rows = Array.from(
    changedChunks(change),
    ({ chunk, columns }) => sql`(${organization}, ${joined([chunk, ...columns])})`,
  )
  await insert(
    session,
    rows,
    16,
    (some) => sql`
    INSERT INTO list_chunks (organization, chunk, row_ids, fingerprints, id_fingerprints, comparisons, oddities) VALUES ${some}
    ON CONFLICT (organization, chunk) DO UPDATE SET row_ids = excluded.row_ids, fingerprints = excluded.fingerprints,
      id_fingerprints = excluded.id_fingerprints, comparisons = excluded.comparisons, oddities = excluded.oddities`,
  )
  await session.run(
    sql`DELETE FROM list_chunks WHERE organization = ${organization} AND chunk >= ${chunkCount(change.after)}`,
  )
}

async function storeWindows(session: Session, organization: string, change: Change<readonly ListedWindow[]>) {
  const rows = Array.from(
    changedWindows(change),
    ({ number, place, count, digest, outline }) =>
      sql`(${joined([organization, number, place, count, digest, outline])})`,
  )
  await insert(
    session,
    rows,
    1000,
    (some) => sql`
    INSERT INTO list_windows (organization, number, place, count, digest, outline) VALUES ${some}
    ON CONFLICT (organization, number) DO UPDATE SET place = excluded.place, count = excluded.count, digest = excluded.digest,
      outline = excluded.outline`,
  )
  await session.run(
    sql`DELETE FROM list_windows WHERE organization = ${organization} AND number >= ${change.after.length}`,
  )
}

/** Inserts rows, some at a time: each value is a parameter, of which a statement has tens of thousands at most. */
async function insert(session: Session, rows: readonly Sql[], atOnce: number, into: (rows: Sql) => Sql) {
  for (let from = 0; from < rows.length; from += atOnce)
    await session.run(into(joined(rows.slice(from, from + atOnce))))
}

/** Stores what a quick run found out about the order of the list since it was read. */
export async function storeLaterOrder(session: Session, organization: string, later: LaterOrder) {
  await session.run(
    sql`UPDATE lists SET later_order = ${JSON.stringify(later)} WHERE organization = ${organization} AND reader = ${READER}`,
  )
}

/*
 * How the list of an organization is stored, in every store: in chunks of so many customers, and in windows.
 */

/** The number of customers in a stored chunk of the list. */
const CHUNK = 4096

/** A program with other fields stores the same record in another way, so it reads every record again; so does one with other fingerprints. */
const READER = `${version()} ${FINGERPRINT_STEPS} ${TEXT_FIELDS.join(' ')}`

type StoredChunk = { chunk: number } & Record<
  'row_ids' | 'fingerprints' | 'id_fingerprints' | 'comparisons' | 'oddities',
  Buffer
>

type StoredList = { customers: number; warnings: string; order_facts: string | null; later_order: string | null }

function listIn(stored: StoredList, columns: ListColumns, windows: ListedWindow[]): ListAsRead {
  const warnings: Warnings[] = JSON.parse(stored.warnings)
  const order = readOrderFacts(stored.order_facts)
  return { columns, windows, warnings, order, later: readLaterOrder(stored.later_order) }
}

function columnsIn(chunks: Iterable<StoredChunk>, customers: number): ListColumns | undefined {
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

type Change<Value> = { before: Value; after: Value }

function chunkCount(columns: ListColumns): number {
  return Math.ceil(columns.rowIds.length / CHUNK)
}

/** The chunks that are not stored as they shall be; the columns in the order of `StoredChunk`. */
function* changedChunks({
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

function* changedWindows({
  before,
  after,
}: Change<readonly ListedWindow[]>): Generator<ListedWindow & { number: number }> {
  for (const [number, { place, count, digest, outline }] of after.entries()) {
    const was = before[number]
    if (was?.digest === digest && was.place === place && was.count === count && was.outline === outline) continue
    yield { number, place, count, digest, outline }
  }
}

type Doubts = Pick<Run, 'doubted' | 'changedSince' | 'lastEdit'>

/** The edits by hand that a run knows of, by the set of doubted rows that they are part of. */
const editsOf = new WeakMap<RowSet, number[]>()

/** Customers that may differ from the list: written since it was read, by a run or by hand, or no longer listed. */
export async function findDoubts(session: Session, organization: string): Promise<Doubts> {
  const own = sql`organization = ${organization}`
  const stored = sql`(SELECT run_id FROM lists WHERE ${own})`
  const [edits, absent, since] = await together(
    session.all<{ edit: number; row_id: number }>(
      sql`SELECT edit, row_id FROM edited_customers WHERE ${own} ORDER BY edit`,
    ),
    session.numbers(sql`
      SELECT row_id FROM customers WHERE ${own} AND (missing_since IS NOT NULL OR removed_at IS NOT NULL)`),
    session.all<{ id: number; is_quick: boolean | number }>(sql`
      SELECT id, ${text(IS_QUICK)} AND updated > 0 AS is_quick FROM runs
      WHERE ${own} AND id > ${stored} AND inserted + updated > 0`),
  )
  const quick = since.filter(({ is_quick }) => Boolean(is_quick)).map(({ id }) => id)
  // Customers are looked at only where runs have written any since. The changes of each are looked up: a server would rather read all that there
  // ever were.
  const [written, changed] = await together(
    since.length === 0
      ? NO_ROWS
      : session.numbers(sql`SELECT row_id FROM customers WHERE ${own} AND last_run_id > ${stored}`),
    quick.length === 0
      ? NO_ROWS
      : session.numbers(sql`
        SELECT row_id FROM customers WHERE ${own} AND ${isIn('last_run_id', quick)} AND (
          SELECT true FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id
            AND run_id = last_run_id AND change = 'changed' LIMIT 1)`),
  )
  const doubted = RowSet.of(edits.map(({ row_id }) => row_id))
  const edited = new Set(doubted)
  for (const rowId of [absent, written].flat()) doubted.add(rowId)
  editsOf.set(
    doubted,
    edits.map(({ edit }) => edit),
  )
  const changedSince = RowSet.of(changed.filter((rowId) => !edited.has(rowId)))
  return { doubted, changedSince, lastEdit: edits.at(-1)?.edit ?? 0 }
}

const NO_ROWS = Promise.resolve<number[]>([])

/** Deletes the edits that the run knew of. One that was made since is for the next run. */
async function forgetEdits(session: Session, { organization, doubted }: Pick<Run, 'organization' | 'doubted'>) {
  const edits = editsOf.get(doubted) ?? []
  if (edits.length > 0)
    await session.run(sql`DELETE FROM edited_customers WHERE organization = ${organization} AND ${isIn('edit', edits)}`)
}
