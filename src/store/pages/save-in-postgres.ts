import pLimit from 'p-limit'
import { MirrorUnusable } from '../../errors/errors.ts'
import type { Customer } from '../../model/customer.ts'
import type { PagesSaved } from '../../model/mirror.ts'
import type { SortedPage } from '../../model/page.ts'
import type { Run } from '../../model/run.ts'
import { decidePages, FIELDS, idsIn, type Known, type PagesDecided, type Stored } from './decide-pages.ts'
import { InitialIds } from './initial-ids.ts'
import { saveBeside } from './save-beside.ts'
import { notTaken, requireTaken } from '../refusals.ts'
import type { Database, ServerSession } from '../port/postgres-connections.ts'
import { isCustomerTaken, isTaken, isTooLongToIndex, postgresError } from '../port/postgres-errors.ts'
import { given, moment, sql, type Sql, sqlTime, text, Texts } from '../port/sql.ts'
import { LEFT_OUT, together } from '../port/store.ts'
import { dropTextIndexes } from '../reading-indexes.ts'
import { renewLease, updateStamp } from '../runs/lease.ts'
import type { Own } from '../verbs.ts'

/** Saves at once, at most: while one waits for its stamp, the next is prepared. A third would only wait, with its pages in memory. */
const SAVES_AT_ONCE = 2

/** How often pages are decided about again because another program wrote a customer meanwhile. */
const TRIES = 5

/** Fewer customers than these are sent in less time than the round trips before take. */
const MANY = 1000

/** The runs that load an organization without rows, with the ids that they have saved, or tried to. */
const loading = new WeakMap<Run, InitialIds>()

/** Saves whole pages, each table in one statement with an array for each column: one row a statement would be one round trip a row. */
export function savingIn(database: Database): Own['savePages'] {
  const turns = pLimit(SAVES_AT_ONCE)
  return (...asked) => turns(() => savePages(database, ...asked))
}

/** Again where another program wrote the same customers meanwhile, or where a text is too long for an index of readers, which is dropped. */
async function savePages(
  database: Database,
  ...[run, pages, nowMs, onWaiting]: Parameters<Own['savePages']>
): Promise<PagesSaved> {
  const ids = idsIn(pages)
  const rejectedIds = new Set(pages.flatMap(({ rejects }) => rejects.flatMap(({ recordId }) => recordId ?? [])))
  if (ids.size < MANY) onWaiting?.()
  for (let tries = 1; ; tries += 1) {
    // Once another program wrote a customer, what this run has saved says little.
    const before = tries === 1 ? loading.get(run)?.addNew(ids) : undefined
    // No insert fails where another program inserted the customer of a reject, so these are always looked up.
    const toFind = before?.union(rejectedIds) ?? ids
    const disturbed: Disturbed = {}
    try {
      const work = { run, pages, ids, toFind, nowMs, onWaiting, disturbed }
      return await database.write((session) => saveOnce(session, work), {}, pages)
    } catch (error) {
      if (disturbed.isTooLong === true && tries < TRIES) {
        // The save of another run may have dropped them just now.
        await database.write(dropTextIndexes)
        continue
      }
      if (disturbed.by === undefined) throw error
      if (tries === TRIES) throw lasting(disturbed.by, database.place)
    }
  }
}

/** Why a save may succeed when it is tried again: `by` is the error if it does not. */
type Disturbed = { isTooLong?: boolean; by?: unknown }

type Saving = {
  run: Run
  pages: readonly SortedPage[]
  nowMs: number
  onWaiting: (() => void) | undefined
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

/** Another program keeps inserting the customers, or a unique index that someone added does not allow them. */
function lasting(error: unknown, address: string): unknown {
  if (!isCustomerTaken(error)) return postgresError(error, address)
  return new MirrorUnusable(
    `${address}: another program keeps inserting or deleting customers, or a policy hides rows from this user. Stop that program, or drop that policy, then sync again.`,
    { code: 'busy' },
  )
}

type Found = Customer & { last_row_id: number | null; row_id: number | null; is_missing: boolean; is_removed: boolean }

async function findStored(session: ServerSession, organization: string, ids: ReadonlySet<string>): Promise<Stored> {
  const customers = new Map<string, Known>()
  const found = await session.all<Found>(sql`
    SELECT last.row_id AS last_row_id, customers.row_id, id, ${NAMES}, missing_since IS NOT NULL AS is_missing,
      removed_at IS NOT NULL AS is_removed
    FROM (SELECT greatest((SELECT max(row_id) FROM customers WHERE organization = ${organization}),
      (SELECT max(row_id) FROM edited_customers WHERE organization = ${organization})) AS row_id) AS last
    LEFT JOIN customers ON organization = ${organization} AND id = ANY (ARRAY(SELECT unnest(${new Texts([...ids])}::text[])))`)
  for (const { last_row_id: _, row_id: rowId, is_missing: isMissing, is_removed: isRemoved, ...customer } of found)
    if (rowId !== null) customers.set(customer.id, { rowId, customer, isMissing, isRemoved })
  return { customers, lastRowId: found[0]?.last_row_id ?? 0 }
}

/** All of it is sent together; what the tables took is looked at afterwards. */
async function write(session: ServerSession, decided: PagesDecided, saving: Saving) {
  const { run, nowMs, onWaiting, ids, disturbed } = saving
  const { organization, id } = run
  const now = moment(sqlTime(nowMs))
  const inserted = decided.inserted.map(({ rowId, customer }) => ({ ...customer, row_id: rowId }))
  const updated = [...decided.updated].map(([row_id, { customer, isChanged, isOwn }]) => {
    return { ...customer, row_id, is_changed: isChanged, is_own: isOwn }
  })
  const take = async (rows: readonly object[], statement: Sql) => {
    try {
      return rows.length === 0 ? 0 : await session.run(statement)
    } catch (error) {
      disturbed.isTooLong ||= isTooLongToIndex(error)
      if (isTaken(error)) disturbed.by = error
      throw error
    }
  }
  const isSeen = inserted.length + updated.length + decided.changes.length > 0
  const sent = together(
    isSeen ? updateStamp(session, nowMs) : LEFT_OUT,
    take(
      inserted,
      sql`INSERT INTO customers (organization, row_id, id, ${NAMES}, last_run_id, updated_at, first_seen_at, changed_at)
        SELECT ${organization}, row_id, id, ${NAMES}, ${id}, ${STAMP}, ${now}, ${now} FROM ${given(inserted, TYPES)}`,
    ),
    take(
      updated,
      sql`UPDATE customers SET ${TAKEN_OVER}, missing_since = NULL, removed_at = NULL, updated_at = ${STAMP},
          changed_at = CASE WHEN is_changed THEN ${now} ELSE changed_at END,
          last_run_id = CASE WHEN is_own THEN ${id} ELSE last_run_id END
        FROM ${given(updated, { ...TYPES, is_changed: 'boolean', is_own: 'boolean' })}
        WHERE customers.organization = ${organization} AND customers.row_id = given.row_id`,
    ),
    saveBeside(session, run, decided, nowMs),
  )
  if (ids.size >= MANY) onWaiting?.()
  const [, insertedRows, updatedRows] = await sent
  requireTaken(run, 'customers', { given: inserted.length, taken: insertedRows })
  // Another program seems to have deleted some since they were looked up.
  const counts = { given: updated.length, taken: updatedRows }
  if (counts.taken < counts.given) throw (disturbed.by = notTaken(organization, 'customers', counts))
}

const NAMES = text(FIELDS.join(', '))
const TAKEN_OVER = text(FIELDS.map((field) => `${field} = given.${field}`).join(', '))
const STAMP = text('(SELECT updated_at FROM last_update)')
const TYPES = {
  ...{ row_id: 'bigint', id: 'text' },
  ...Object.fromEntries(FIELDS.map((field) => [field, 'text'])),
  ...{ created_at_utc: 'timestamptz', extra: 'json' },
}
