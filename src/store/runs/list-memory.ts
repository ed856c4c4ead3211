import { type LaterOrder, readLaterOrder } from '../../model/later-order.ts'
import {
  EMPTY_LIST,
  emptyColumns,
  type ListAsRead,
  type ListColumns,
  type ListedWindow,
} from '../../model/list-as-read.ts'
import type { Run } from '../../model/run.ts'
import { joined, sql, text } from '../port/sql.ts'
import { LEFT_OUT, type Session, together } from '../port/store.ts'
import { FINGERPRINT_STEPS } from '../../model/fingerprint.ts'
import { readOrderFacts } from '../../model/order-facts.ts'
import { TEXT_FIELDS, type Warnings } from '../../model/customer.ts'
import { version } from '../../machine/version.ts'
import { RowSet } from '../../model/row-set.ts'
import { isIn, replacing } from '../port/fragments.ts'
import { IS_QUICK } from '../schema/views.ts'

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
  if (list === undefined || columns === undefined) return EMPTY_LIST
  const warnings: Warnings[] = JSON.parse(list.warnings)
  return {
    columns,
    windows,
    warnings,
    order: readOrderFacts(list.order_facts),
    later: readLaterOrder(list.later_order),
  }
}

/** Stores the list of a complete run, in place of the one it began with; unchanged parts are not written. */
export async function storeList(session: Session, run: Run, list: ListAsRead) {
  const { organization, id } = run
  const { columns, windows, warnings, order } = list
  const before = run.list
  await together(
    columns === before.columns ? LEFT_OUT : storeChunks(session, organization, before.columns, columns),
    windows === before.windows ? LEFT_OUT : storeWindows(session, organization, before.windows, windows),
    session.run(sql`
      INSERT INTO lists (organization, run_id, reader, customers, warnings, order_facts)
      VALUES (${organization}, ${id}, ${READER}, ${columns.rowIds.length}, ${JSON.stringify(warnings)}, ${JSON.stringify(order)})
      ON CONFLICT (organization) ${text(replacing('run_id', 'reader', 'customers', 'warnings', 'order_facts', 'later_order'))}`),
    forgetEdits(session, run),
  )
}

async function storeChunks(session: Session, organization: string, before: ListColumns, after: ListColumns) {
  const count = Math.ceil(after.rowIds.length / CHUNK)
  const chunks = Array.from({ length: count }, (_, chunk) => ({
    chunk,
    was: chunkOf(before, chunk),
    is: chunkOf(after, chunk),
  }))
  const changed = chunks.filter(({ was, is }) => !is.every((column, place) => column.equals(was[place] ?? NO_BYTES)))
  for (const rows of inParts(changed, 16))
    await session.run(sql`
      INSERT INTO list_chunks (organization, chunk, ${text(CHUNK_COLUMNS.join(', '))})
      VALUES ${joined(rows.map(({ chunk, is }) => sql`(${joined([organization, chunk, ...is])})`))}
      ON CONFLICT (organization, chunk) ${text(replacing(...CHUNK_COLUMNS))}`)
  await session.run(sql`DELETE FROM list_chunks WHERE organization = ${organization} AND chunk >= ${count}`)
}

type Windows = readonly ListedWindow[]

async function storeWindows(session: Session, organization: string, before: Windows, after: Windows) {
  const changed = [...after.entries()].filter(([number, window]) => {
    const was = before[number]
    return was === undefined || WINDOW_COLUMNS.some((column) => was[column] !== window[column])
  })
  for (const rows of inParts(changed, 1000))
    await session.run(sql`
      INSERT INTO list_windows (organization, number, ${text(WINDOW_COLUMNS.join(', '))}) VALUES ${joined(
        rows.map(
          ([number, is]) => sql`(${joined([organization, number, ...WINDOW_COLUMNS.map((column) => is[column])])})`,
        ),
      )} ON CONFLICT (organization, number) ${text(replacing(...WINDOW_COLUMNS))}`)
  await session.run(sql`DELETE FROM list_windows WHERE organization = ${organization} AND number >= ${after.length}`)
}

const WINDOW_COLUMNS = ['place', 'count', 'digest', 'outline'] as const

/** Each value is a parameter, of which a statement has tens of thousands at most. */
function inParts<Row>(rows: readonly Row[], size: number): Row[][] {
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, part) => rows.slice(part * size, (part + 1) * size))
}

/** Stores what a quick run found out about the order of the list since it was read. */
export async function storeLaterOrder(session: Session, organization: string, later: LaterOrder) {
  await session.run(
    sql`UPDATE lists SET later_order = ${JSON.stringify(later)} WHERE organization = ${organization} AND reader = ${READER}`,
  )
}

const CHUNK = 4096

/** A program with other fields stores the same record in another way, so it reads every record again; so does one with other fingerprints. */
const READER = `${version()} ${FINGERPRINT_STEPS} ${TEXT_FIELDS.join(' ')}`

const CHUNK_COLUMNS = ['row_ids', 'fingerprints', 'id_fingerprints', 'comparisons', 'oddities'] as const

type StoredChunk = { chunk: number } & Record<(typeof CHUNK_COLUMNS)[number], Buffer>
type StoredList = { customers: number; warnings: string; order_facts: string | null; later_order: string | null }

/** Undefined if the chunks are damaged. */
function columnsIn(chunks: readonly StoredChunk[], customers: number): ListColumns | undefined {
  const columns = emptyColumns(customers)
  let copied = 0
  for (const stored of chunks) {
    const parts = chunkOf(columns, stored.chunk)
    if (CHUNK_COLUMNS.some((column, place) => stored[column].length !== parts[place]?.length)) return undefined
    for (const [place, column] of CHUNK_COLUMNS.entries()) parts[place]?.set(stored[column])
    copied += stored.oddities.length
  }
  return copied === customers ? columns : undefined
}

/** The bytes of each column of a chunk: little-endian, as on all supported machines. */
function chunkOf(columns: ListColumns, chunk: number): Buffer[] {
  const { rowIds, fingerprints, idFingerprints, comparisons, oddities } = columns
  return [rowIds, fingerprints, idFingerprints, comparisons, oddities].map((column) => {
    const { buffer, byteOffset, byteLength } = column.subarray(chunk * CHUNK, (chunk + 1) * CHUNK)
    return Buffer.from(buffer, byteOffset, byteLength)
  })
}

const NO_BYTES = Buffer.alloc(0)

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
