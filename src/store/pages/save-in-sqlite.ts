import { MirrorUnusable } from '../../errors/errors.ts'
import { isOfSqlite } from '../../errors/faults.ts'
import type { Customer } from '../../model/customer.ts'
import type { SortedPage } from '../../model/page.ts'
import type { Run } from '../../model/run.ts'
import { decidePages, FIELDS, idsIn, type Known, type PagesDecided } from './decide-pages.ts'
import { InitialIds } from './initial-ids.ts'
import { saveBeside } from './save-beside.ts'
import { requireTaken } from '../refusals.ts'
import { sqlTime } from '../port/sql.ts'
import { type SqliteSession, sqliteSession } from '../port/sqlite-store.ts'
import type { Store } from '../port/store.ts'
import { renewLease, updateStamp } from '../runs/lease.ts'
import { type Connection, statement } from '../sqlite/connect.ts'
import { CACHE_KB } from '../sqlite/open-database.ts'
import type { Own } from '../verbs.ts'

export function savingIn(db: Connection, store: Store): Pick<Own, 'savePages' | 'began' | 'pagesAtOnce' | 'ending'> {
  return {
    savePages: (run, pages, nowMs, onWaiting) => {
      onWaiting?.()
      return store.write(() => savePages(sqliteSession(db), run, pages, nowMs))
    },
    began: (run) => beginIds(db, run),
    pagesAtOnce: (run) => (idsOfRuns.has(run) ? 16 : 64),
    ending: async (run, isWell) => {
      forgetInitialIds(db, run)
      if (isWell && lacksIdIndex(db)) await store.write(async () => createIdIndex(db), { sorting: true })
    },
  }
}

/** Row by row with prepared statements: to undo a statement for many rows, SQLite would first copy each page they change. */
async function savePages(session: SqliteSession, run: Run, pages: readonly SortedPage[], nowMs: number) {
  await renewLease(session, run, nowMs)
  const initial = initialIdsOf(session.db, run)
  const stored = findStored(session.db, run.organization, idsIn(pages), initial)
  const decided = decidePages(run, pages, stored)
  const { inserted, updated } = decided
  const stamp = inserted.length + updated.size > 0 ? await updateStamp(session, nowMs) : ''
  const shared = { organization: run.organization, run_id: run.id, stamp, now: sqlTime(nowMs) }
  const write = (text: string, ...values: unknown[]) => statement(session.db, text).run(...values).changes
  const atOnce = initial === undefined ? 1 : INSERTS.length
  let taken = 0
  for (let from = 0; from < inserted.length; from += atOnce) {
    const rows = inserted.slice(from, from + atOnce)
    taken += write(INSERTS[rows.length - 1] ?? '', valuesOf(rows), shared)
  }
  requireTaken(run, 'customers', { given: inserted.length, taken })
  for (const [row_id, { customer, isChanged, isOwn }] of updated) {
    const values = { ...customer, ...shared, is_changed: Number(isChanged), is_own: Number(isOwn), row_id }
    const changed = write(updateOf(customer, stored.customers.get(customer.id)), values)
    requireTaken(run, 'customers', { given: 1, taken: changed })
  }
  await saveBeside(session, run, decided, nowMs)
  // Also where the transaction fails later.
  for (const { rowId, customer } of inserted) initial?.add(customer.id, rowId)
  return decided.saved
}

type Found = Customer & { row_id: number; missing_since: string | null; removed_at: string | null }

/** The customers with these ids, and the highest row number ever given: the list before and windows may still refer to a deleted row. */
function findStored(db: Connection, organization: string, ids: ReadonlySet<string>, initial: InitialIds | undefined) {
  const customers = new Map<string, Known>()
  if (ids.size === 0) return { customers, lastRowId: 0 }
  const rowIds: number[] = []
  if (initial !== undefined) for (const id of ids) initial.addRowsOf(id, rowIds)
  const find = statement<[string, string], Found>(db, initial === undefined ? FIND : FIND_BY_ROW)
  for (const row of find.all(organization, JSON.stringify(initial === undefined ? [...ids] : rowIds)))
    customers.set(row.id, {
      rowId: row.row_id,
      customer: row,
      isMissing: row.missing_since !== null,
      isRemoved: row.removed_at !== null,
    })
  const last = statement<[string], { row_id: number }>(db, LAST_ROW).get(organization)
  return { customers, lastRowId: last?.row_id ?? 0 }
}

const FIND = `SELECT row_id, id, ${FIELDS.join(', ')}, missing_since, removed_at FROM customers
  WHERE organization = ? AND id IN (SELECT value FROM json_each(?))`
const FIND_BY_ROW = FIND.replace('organization = ? AND id IN', '+organization = ? AND row_id IN')
const LAST_ROW = `SELECT max(coalesce((SELECT MAX(row_id) FROM customers), 0),
  coalesce((SELECT MAX(row_id) FROM edited_customers WHERE organization = ?), 0)) AS row_id`

/** What differs from row to row is positional: named parameters for it would cost more than the insert. */
const ROW = `(?, ?, ${FIELDS.map(() => '?').join(', ')}, @organization, @run_id, @stamp, @now, @now)`

/** Rows of one statement without the index of ids. With it, SQLite would first copy each page of the index that they change, to undo them. */
const ROWS_AT_ONCE = 10

const COLUMNS = ['row_id', 'id', ...FIELDS, 'organization', 'last_run_id', 'updated_at', 'first_seen_at', 'changed_at']
const INSERTS = Array.from({ length: ROWS_AT_ONCE }, (_, place) => {
  const rows = Array.from({ length: place + 1 }, () => ROW)
  return `INSERT INTO customers (${COLUMNS.join(', ')}) VALUES ${rows.join(', ')}`
})

function valuesOf(rows: PagesDecided['inserted']): unknown[] {
  const values: unknown[] = []
  let at = 0
  for (const { rowId, customer } of rows) {
    values[at++] = rowId
    values[at++] = customer.id
    for (const field of FIELDS) values[at++] = customer[field]
  }
  return values
}

/** Columns with an index of their own. SQLite writes an index again for every column that is set, changed or not. */
const INDEXED: readonly string[] = ['email', 'language']

function updateOf(customer: Customer, before: Known | undefined): string {
  const fields = FIELDS.filter((field) => !INDEXED.includes(field) || before?.customer[field] !== customer[field])
  const isAbsent = before?.isMissing === true || before?.isRemoved === true
  return `UPDATE customers SET ${fields.map((field) => `${field} = @${field}`).join(', ')},
    ${isAbsent ? 'missing_since = NULL, removed_at = NULL, is_active = 1,' : ''} updated_at = @stamp,
    changed_at = CASE @is_changed WHEN 1 THEN @now ELSE changed_at END, last_run_id = CASE @is_own WHEN 1 THEN @run_id ELSE last_run_id END
    WHERE row_id = @row_id AND organization = @organization`
}

/*
 * Ids are random, so each transaction of an initial sync would write nearly all of their index again. The first organization of a mirror
 * is read without it: the run itself knows which ids it inserted, and no other one is there. It is created from sorted keys when the run
 * is over, or when another one begins, whatever happened to the first, or when another program writes to the file.
 */
const [ID_INDEX, ON] = ['customers_by_id', 'customers (organization, id)']

/** Whether customers can be found by their ids only by reading all of them. */
export function lacksIdIndex(db: Connection): boolean {
  return statement(db, `SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?`).get(ID_INDEX) === undefined
}

/** Creates the index of ids if it is missing. The caller holds the transaction. Throws MirrorUnusable where a customer has two rows. */
function createIdIndex(db: Connection): void {
  if (!lacksIdIndex(db)) return
  try {
    db.exec(`CREATE UNIQUE INDEX ${ID_INDEX} ON ${ON}`)
  } catch (error) {
    if (!isOfSqlite(error) || error.code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error
    throw new MirrorUnusable(
      `${db.name}: has two rows of one customer, which only a change by hand can have left. This finds them: SELECT organization, id FROM ` +
        'customers GROUP BY organization, id HAVING COUNT(*) > 1. Delete what was added, and run the command again.',
      { code: 'damaged' },
      { cause: error },
    )
  }
}

/** What a run without the index knows, and the version of the file: it changes when another connection writes. */
const idsOfRuns = new WeakMap<Run, { ids: InitialIds; version: unknown }>()

/** Rows are written one after the other, and none is looked up. */
const CACHE_WITHOUT_INDEX_KB = 2000

/** Has a run that begins read without the index of ids where it is alone in a mirror without customers. The caller holds the transaction. */
function beginIds(db: Connection, run: Run): void {
  const other = statement(db, 'SELECT 1 FROM customers UNION ALL SELECT 1 FROM leases WHERE organization <> ? LIMIT 1')
  if (!run.isBaseline || run.isPartial || other.get(run.organization) !== undefined) return createIdIndex(db)
  db.exec(`DROP INDEX IF EXISTS ${ID_INDEX}`)
  db.pragma(`cache_size = -${CACHE_WITHOUT_INDEX_KB}`)
  idsOfRuns.set(run, { ids: new InitialIds(run.fingerprint), version: dataVersion(db) })
}

/** The ids that a run inserted; undefined once another run created the index, or another program wrote to the file. Within a transaction. */
function initialIdsOf(db: Connection, run: Run): InitialIds | undefined {
  const known = idsOfRuns.get(run)
  if (known !== undefined && known.version === dataVersion(db) && lacksIdIndex(db)) return known.ids
  // It may have been created in a transaction that failed later.
  createIdIndex(db)
  forgetInitialIds(db, run)
  return undefined
}

function dataVersion(db: Connection): unknown {
  return db.pragma('data_version', { simple: true })
}

/** The run goes by the index of ids from here on, or saves nothing more. */
function forgetInitialIds(db: Connection, run: Run): void {
  const known = idsOfRuns.get(run)
  if (known === undefined) return
  idsOfRuns.delete(run)
  known.ids.release()
  db.pragma(`cache_size = -${CACHE_KB}`)
}
