import pLimit from 'p-limit'
import { MirrorUnusable } from '../../errors/errors.ts'
import { type Customer, TEXT_FIELDS } from '../../model/customer.ts'
import type { PagesSaved } from '../../model/mirror.ts'
import type { SortedPage } from '../../model/page.ts'
import type { Run } from '../../model/run.ts'
import { release } from '../absent/removals.ts'
import {
  decidePages,
  idsIn,
  type Known,
  type PagesDecided,
  type PlacedReject,
  type Stored,
  type Update,
} from './decide-pages.ts'
import { InitialIds } from './initial-ids.ts'
import { notTaken, requireTaken, wentBack } from '../refusals.ts'
import { type Database, type ServerSession, Texts } from '../port/postgres-connections.ts'
import { isCustomerTaken, isTaken, isTooLongToIndex, postgresError } from '../port/postgres-errors.ts'
import { joined, replacing, rowsOf, sql, sqlTime, text } from '../port/sql.ts'
import { LEFT_OUT, together } from '../port/store.ts'
import { dropTextIndexes } from '../reading-indexes.ts'
import { renewLease, updateStamp } from '../runs/lease.ts'

/** Saves at once, at most: while one waits for its stamp, the next is prepared. A third would only wait, with its pages in memory. */
const SAVES_AT_ONCE = 2

/** How often pages are decided about again because another program wrote a customer meanwhile. */
const TRIES = 5

/** Fewer customers than these are sent in less time than the round trips before take. */
const MANY = 1000

/** The runs that load an organization without rows, with the ids that they have saved, or tried to. */
const loading = new WeakMap<Run, InitialIds>()

type SavePages = (run: Run, pages: readonly SortedPage[], nowMs: number, onWaiting?: () => void) => Promise<PagesSaved>

/** Saves whole pages, each table in one statement with an array for each column: one row a statement would be one round trip a row. */
export function savingIn(database: Database): SavePages {
  const turns = pLimit(SAVES_AT_ONCE)
  return (run, pages, nowMs, onWaiting) => turns(() => savePages(database, run, pages, { nowMs, onWaiting }))
}

type Moment = { nowMs: number; onWaiting: (() => void) | undefined }

/** Again where another program wrote the same customers meanwhile, or where a text is too long for an index of readers, which is dropped. */
async function savePages(
  database: Database,
  run: Run,
  pages: readonly SortedPage[],
  { nowMs, onWaiting }: Moment,
): Promise<PagesSaved> {
  const ids = idsIn(pages)
  if (ids.size < MANY) onWaiting?.()
  for (let tries = 1; ; tries += 1) {
    // Once another program wrote a customer, what this run has saved says little.
    const before = tries === 1 ? loading.get(run)?.addNew(ids) : undefined
    const toFind = before?.union(rejectedIn(pages)) ?? ids
    const disturbed: Disturbed = {}
    try {
      const work = { run, pages, ids, toFind, nowMs, onWaiting, disturbed }
      return await database.write((session) => saveOnce(session, work), {}, pages)
    } catch (error) {
      if (disturbed.isTooLong === true && (await database.write(dropTextIndexes))) continue
      if (disturbed.by === undefined) throw error
      if (tries === TRIES) throw lasting(disturbed.by, database.place)
    }
  }
}

/** Why a save may succeed when it is tried again: `by` is the error if it does not. */
type Disturbed = { isTooLong?: boolean; by?: unknown }

type Saving = Moment & {
  run: Run
  pages: readonly SortedPage[]
  ids: ReadonlySet<string>
  toFind: ReadonlySet<string>
  disturbed: Disturbed
}

async function saveOnce(session: ServerSession, saving: Saving): Promise<PagesSaved> {
  const { run, pages, ids, toFind, nowMs } = saving
  const [, stored] = await together(
    renewLease(session, run, nowMs),
    ids.size === 0 ? NOTHING_NAMED : findStored(session, run.organization, toFind),
  )
  const decided = decidePages(run, pages, stored)
  await write(session, decided, saving)
  if (stored.lastRowId === 0 && ids.size > 0) {
    const saved = new InitialIds(run.fingerprint)
    saved.addNew(ids)
    loading.set(run, saved)
  }
  return decided.saved
}

const NOTHING_NAMED = Promise.resolve<Stored>({ customers: new Map(), lastRowId: 0 })

/** No insert fails where another program inserted the customer of a reject, so these are always looked up. */
function rejectedIn(pages: readonly SortedPage[]): Set<string> {
  return new Set(pages.flatMap(({ rejects }) => rejects.flatMap(({ recordId }) => recordId ?? [])))
}

/** Another program keeps inserting the customers, or a unique index that someone added does not allow them. */
function lasting(error: unknown, address: string): unknown {
  if (!isCustomerTaken(error)) return postgresError(error, address)
  return new MirrorUnusable(
    `${address}: another program keeps inserting or deleting customers, or a policy hides rows from this user. Stop that program, or drop that policy, then sync again.`,
    { code: 'busy' },
  )
}

const FIELDS = [...TEXT_FIELDS, 'created_at_utc', 'extra'] as const

type Found = Customer & { last_row_id: number | null; row_id: number | null; is_missing: boolean; is_removed: boolean }

const FIND = `
  SELECT last.row_id AS last_row_id, customers.row_id, id, ${FIELDS.join(', ')}, missing_since IS NOT NULL AS is_missing, removed_at IS NOT NULL AS is_removed
  FROM (SELECT greatest((SELECT max(row_id) FROM customers WHERE organization = $1),
    (SELECT max(row_id) FROM edited_customers WHERE organization = $1)) AS row_id) AS last
  LEFT JOIN customers ON organization = $1 AND id = ANY (ARRAY(SELECT unnest($2::text[])))`

async function findStored(session: ServerSession, organization: string, ids: ReadonlySet<string>): Promise<Stored> {
  const customers = new Map<string, Known>()
  const { rows: found } = await session.query<Found>(FIND, organization, new Texts([...ids]))
  for (const { last_row_id: _, row_id: rowId, is_missing: isMissing, is_removed: isRemoved, ...customer } of found)
    if (rowId !== null) customers.set(customer.id, { rowId, customer, isMissing, isRemoved })
  return { customers, lastRowId: found[0]?.last_row_id ?? 0 }
}

/** All of it is sent together; what the tables took is looked at afterwards. */
async function write(session: ServerSession, decided: PagesDecided, saving: Saving) {
  const { run, nowMs, onWaiting, ids, disturbed } = saving
  const { organization, id } = run
  const { inserted, changes, present, released, saved } = decided
  const [updated, edited, rejects] = [[...decided.updated], [...decided.edited], [...decided.rejects.values()]]
  const shared = [organization, id, sqlTime(nowMs)]
  const take = (words: string, columns: readonly Column[]) =>
    takeRows(session, words, columns, shared).catch((error: unknown) => {
      disturbed.isTooLong ||= isTooLongToIndex(error)
      if (isTaken(error)) disturbed.by = error
      throw error
    })
  const isSeen = inserted.length + updated.length + changes.length > 0
  const sent = together(
    isSeen ? updateStamp(session, nowMs) : LEFT_OUT,
    take(INSERT, [numbers('row_id', inserted, ({ rowId }) => rowId), ...recordsOf(inserted)]),
    take(UPDATE, updateColumns(updated)),
    take(
      FEED,
      (['id', 'change', 'fields'] as const).map((name) => texts(name, changes, (change) => change[name])),
    ),
    take(REJECT, rejectColumns(rejects)),
    takeRows(session, RECORD, windowsOf(decided.windows), [id]),
    take(NOTE_EDITED, [numbers('row_id', edited, (rowId) => rowId)]),
    present.size === 0 ? LEFT_OUT : session.run(sql`DELETE FROM absences WHERE ${rowsOf(organization, [...present])}`),
    release(session, run, [...released]),
    countPages(session, run, saved),
  )
  if (ids.size >= MANY) onWaiting?.()
  const [, insertedRows, updatedRows, fed, rejected] = await sent
  requireTaken(run, 'customers', { given: inserted.length, taken: insertedRows })
  // Another program seems to have deleted some since they were looked up.
  const counts = { given: updated.length, taken: updatedRows }
  if (counts.taken < counts.given) throw (disturbed.by = notTaken(organization, 'customers', counts))
  requireTaken(run, 'changes', { given: changes.length, taken: fed })
  requireTaken(run, 'rejects', { given: rejects.length, taken: rejected })
}

async function countPages(session: ServerSession, run: Run, { pages, records, writtenAgain }: PagesSaved) {
  const counts = Object.entries(records).map(([name, count]) => sql`${text(name)} = ${text(name)} + ${count},`)
  const stored = await session.first<{ pages: number }>(sql`
    UPDATE runs SET ${joined(counts, ' ')}
      pages = pages + ${pages.length}, read_before = read_before - ${writtenAgain} WHERE id = ${run.id} RETURNING pages`)
  // Row numbers that the run knows may be those of others.
  if (stored?.pages !== run.pages + pages.length) throw wentBack(run.organization)
}

function updateColumns(updated: readonly [number, Update][]): Column[] {
  return [
    numbers('row_id', updated, ([rowId]) => rowId),
    column('is_changed', 'boolean', updated, ([, { isChanged }]) => isChanged),
    column('is_own', 'boolean', updated, ([, { isOwn }]) => isOwn),
    ...recordsOf(updated.map(([, update]) => update)),
  ]
}

type Column = { name: string; type: string; values: readonly unknown[] | Texts }

function column<Row>(name: string, type: string, rows: readonly Row[], valueOf: (row: Row) => unknown): Column {
  return { name, type, values: rows.map(valueOf) }
}

function numbers<Row>(name: string, rows: readonly Row[], valueOf: (row: Row) => number | null): Column {
  return column(name, 'bigint', rows, valueOf)
}

function texts<Row>(name: string, rows: readonly Row[], valueOf: (row: Row) => string | null): Column {
  return { name, type: 'text', values: new Texts(rows.map(valueOf)) }
}

function recordsOf(rows: readonly { customer: Customer }[]): Column[] {
  return [
    texts('id', rows, ({ customer }) => customer.id),
    ...FIELDS.map((field) => texts(field, rows, ({ customer }) => customer[field])),
  ]
}

function rejectColumns(rejects: readonly PlacedReject[]): Column[] {
  return [
    texts('record_id', rejects, ({ recordId }) => recordId),
    texts('record_key', rejects, ({ key }) => key),
    numbers('page', rejects, ({ page }) => page),
    numbers('position', rejects, ({ position }) => position),
    texts('payload', rejects, ({ payload }) => payload),
    texts('reasons', rejects, ({ reasons }) => JSON.stringify(reasons)),
  ]
}

/** Bytes are sent as hexadecimal text. */
function windowsOf(windows: PagesDecided['windows']): Column[] {
  const rows = [...windows.values()]
  const ofNumbers = ['start', 'size', 'per_page', 'total', 'last_page'] as const
  return [
    ...ofNumbers.map((name) => numbers(name, rows, (row) => row[name])),
    column('beyond_end', 'boolean', rows, (row) => row.beyond_end),
    texts('row_ids', rows, (row) => row.row_ids.toString('hex')),
    texts('rejected', rows, (row) => row.rejected),
  ]
}

/**
 * Runs a statement in which `given` are the rows of these columns, and $1, $2 and so on what they share; without rows it
 * is not run. Each array is expanded in the select list: in FROM, the server would first write every one of them into a store of its own.
 */
async function takeRows(
  session: ServerSession,
  words: string,
  columns: readonly Column[],
  shared: readonly unknown[],
): Promise<number> {
  const count = columns[0]?.values instanceof Texts ? columns[0].values.values.length : columns[0]?.values.length
  if (count === 0) return 0
  const used = shared.filter((_, at) => words.includes(`$${at + 1}`))
  const expanded = columns.map(
    ({ name, type }, at) => `unnest((SELECT $${used.length + at + 1}::${type}[])) AS ${name}`,
  )
  const given = `(SELECT ${expanded.join(', ')}) AS given`
  return (await session.query(words.replace('GIVEN', given), ...used, ...columns.map(({ values }) => values))).count
}

const STORED = FIELDS.map(
  (field) => `given.${field}${field === 'extra' ? '::json' : field === 'created_at_utc' ? '::timestamptz' : ''}`,
)

const STAMP = '(SELECT updated_at FROM last_update)'

const INSERT = `INSERT INTO customers (organization, row_id, id, ${FIELDS.join(', ')}, last_run_id, updated_at, first_seen_at, changed_at)
  SELECT $1, row_id, id, ${STORED.join(', ')}, $2::bigint, ${STAMP}, $3::timestamptz, $3::timestamptz FROM GIVEN`
const UPDATE = `UPDATE customers SET ${FIELDS.map((field, at) => `${field} = ${STORED[at]}`).join(', ')},
    missing_since = NULL, removed_at = NULL, updated_at = ${STAMP},
    changed_at = CASE WHEN given.is_changed THEN $3::timestamptz ELSE customers.changed_at END,
    last_run_id = CASE WHEN given.is_own THEN $2::bigint ELSE customers.last_run_id END
  FROM GIVEN WHERE customers.organization = $1 AND customers.row_id = given.row_id`
const FEED = `INSERT INTO changes (run_id, organization, id, change, fields, changed_at)
  SELECT $2::bigint, $1, id, change, fields::json, $3::timestamptz FROM GIVEN`
const REJECT = `INSERT INTO rejects (run_id, organization, record_id, record_key, page, position, payload, reasons, first_seen_at, seen_at)
  SELECT $2::bigint, $1, record_id, record_key, page, position, payload, reasons::json, $3::timestamptz, $3::timestamptz FROM GIVEN
  ON CONFLICT (organization, record_key) WHERE resolved_at IS NULL ${replacing('run_id', 'page', 'position', 'payload', 'reasons', 'seen_at')}`
const RECORD = `INSERT INTO windows (run_id, start, size, per_page, total, last_page, beyond_end, row_ids, rejected)
  SELECT $1::bigint, start, size, per_page, total, last_page, beyond_end, decode(row_ids, 'hex'), rejected FROM GIVEN
  ON CONFLICT (run_id, start, size)
    ${replacing('per_page', 'total', 'last_page', 'beyond_end', 'row_ids', 'rejected')}`
const NOTE_EDITED = `INSERT INTO edited_customers (organization, row_id) SELECT $1, row_id FROM GIVEN
  ON CONFLICT (organization, row_id) DO UPDATE SET edit = excluded.edit`
