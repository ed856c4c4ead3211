import * as z from 'zod'
import {
  EMPTY_LIST,
  emptyColumns,
  type LaterOrder,
  type ListAsRead,
  type ListColumns,
} from '../../model/list-as-read.ts'
import type { Run } from '../../model/run.ts'
import { sql, text } from '../port/sql.ts'
import { type Session, together } from '../port/store.ts'
import { FINGERPRINT_STEPS } from '../../model/fingerprint.ts'
import { TEXT_FIELDS, WARNING_KINDS } from '../../model/customer.ts'
import { parsedJson } from '../../text/parsed-json.ts'
import { version } from '../../machine/version.ts'
import { RowSet } from '../../model/row-set.ts'
import { isIn, replacing } from '../port/fragments.ts'
import { IS_QUICK } from '../schema/views.ts'

/** The list of an organization as its last complete run read it; empty if this program has none to rely on. */
export async function loadList(session: Session, organization: string): Promise<ListAsRead> {
  const stored = await session.first<StoredList>(sql`
    SELECT row_ids, marks, facts, later_rows, pending_rows FROM lists WHERE organization = ${organization} AND reader = ${READER}`)
  const columns = stored && columnsIn(stored)
  const facts = stored && factsSchema.safeParse(parsedJson(stored.facts)).data
  // A damaged list is ignored.
  if (columns === undefined || facts === undefined) return EMPTY_LIST
  const { later_rows: later, pending_rows: pending } = stored ?? {}
  return {
    columns,
    ...facts,
    later: later == null ? undefined : { rowIds: rowsIn(later), pending: [...rowsIn(pending)] },
  }
}

type StoredList = Record<'row_ids' | 'marks', Buffer> & { facts: string } & Record<
    'later_rows' | 'pending_rows',
    Buffer | null
  >

const factsSchema = z.object({
  warnings: z.array(z.partialRecord(z.enum(WARNING_KINDS), z.int())).readonly(),
  total: z.int().optional(),
  cappedAt: z.int().optional(),
})

/** Stores the list of a complete run, in place of the one it began with; unchanged customers are not written. */
export async function storeList(session: Session, run: Run, list: ListAsRead) {
  const { organization, id } = run
  const { columns, warnings, total, cappedAt } = list
  const facts = JSON.stringify({ warnings, total, cappedAt } satisfies z.input<typeof factsSchema>)
  const found = sql`run_id = ${id}, facts = ${facts}, later_rows = NULL, pending_rows = NULL`
  const { rowIds } = columns
  const isUnchanged = columns === run.list.columns && run.list !== EMPTY_LIST
  await together(
    isUnchanged
      ? session.run(sql`UPDATE lists SET ${found} WHERE organization = ${organization}`)
      : session.run(sql`
        INSERT INTO lists (organization, run_id, reader, facts, row_ids, marks)
        VALUES (${organization}, ${id}, ${READER}, ${facts}, ${bytesOf(rowIds)}, ${Buffer.concat(marksOf(columns))})
        ON CONFLICT (organization) ${text(replacing('run_id', 'reader', 'facts', 'row_ids', 'marks', 'later_rows', 'pending_rows'))}`),
    forgetEdits(session, run),
  )
}

/** Stores what a quick run found out about the order of the list since it was read. */
export async function storeLaterOrder(session: Session, organization: string, { rowIds, pending }: LaterOrder) {
  await session.run(sql`
    UPDATE lists SET later_rows = ${bytesOf(rowIds)}, pending_rows = ${bytesOf(Uint32Array.from(pending))}
    WHERE organization = ${organization} AND reader = ${READER}`)
}

/** A program with other fields stores the same record in another way, so it reads every record again; so does one with other fingerprints. */
const READER = `${version()} ${FINGERPRINT_STEPS} ${TEXT_FIELDS.join(' ')}`

/** Undefined if the bytes are damaged. */
function columnsIn({ row_ids: rows, marks }: StoredList): ListColumns | undefined {
  const columns = emptyColumns(Math.floor(rows.length / 4))
  const parts = [bytesOf(columns.rowIds), ...marksOf(columns)]
  const stored = Buffer.concat([rows, marks])
  if (stored.length !== parts.reduce((sum, { length }) => sum + length, 0)) return undefined
  let from = 0
  for (const part of parts) from += stored.copy(part, 0, from)
  return columns
}

function marksOf({ fingerprints, idFingerprints, comparisons, oddities }: ListColumns): Buffer[] {
  return [fingerprints, idFingerprints, comparisons, oddities].map(bytesOf)
}

/** The bytes of a column: little-endian, as on all supported machines. */
function bytesOf({ buffer, byteOffset, byteLength }: ListColumns[keyof ListColumns]): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function rowsIn(bytes: Buffer | null | undefined): Uint32Array {
  const rowIds = new Uint32Array((bytes?.length ?? 0) >>> 2)
  bytes?.copy(bytesOf(rowIds))
  return rowIds
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
