import type { Run } from '../../../run.ts'
import type { PagesSaved } from '../../../store.ts'
import { MirrorUnusable } from '../../../errors/errors.ts'
import { decidePages, idsIn, type PagesDecided, type Stored, type Known } from '../../pages/decide-pages.ts'
import { addSaved } from '../../pages/page-accounting.ts'
import { notTaken, requireTaken } from '../../pages/rows-taken.ts'
import { dropTextIndexes } from '../reading/reading-indexes.ts'
import { renewLease } from './lease.ts'
import { isTooLongToIndex, postgresError, isCustomerTaken, isTaken } from '../connection/postgres-errors.ts'
import { hasPages } from './still-there.ts'
import { requirePages } from './went-back.ts'
import type { Database, Session } from '../session.ts'
import { writePages, type Written } from './write-pages.ts'
import type { SortedPage, Reject } from '../../../sorted-page.ts'
import { TEXT_FIELDS, type Customer, type Warnings } from '../../../customer.ts'
import { RowSet } from '../../../list/row-set.ts'
import { storableJson, storableText } from '../../../storable-text.ts'

/** How often pages are decided about again because another program wrote a customer meanwhile. */
const TRIES = 5

/** Fewer customers than these are sent in less time than the round trips before take. */
const MANY = 1000

/** The runs that load an organization without rows, with the ids that they have saved, or tried to. */
const loading = new WeakMap<Run, SavedIds>()

/**
 * Saves whole pages in one transaction: the fence, one look-up of the customers that need one, and one statement that writes all that
 * was decided. Adds the result to the run after the commit.
 */
export async function savePages(
  database: Database,
  run: Run,
  pages: readonly SortedPage[],
  { nowMs, onWaiting }: Pick<Saving, 'nowMs' | 'onWaiting'>,
): Promise<PagesSaved> {
  const storable = storablePages(pages)
  const ids = idsIn(storable.pages)
  if (ids.size < MANY) onWaiting?.()
  for (let tries = 1; ; tries += 1) {
    let isTooLong = false
    const failed = (error: unknown): never => {
      isTooLong = isTooLongToIndex(error)
      throw isTaken(error) ? new WrittenMeanwhile(lastingCollision(error, database)) : error
    }
    try {
      // Once another program wrote a customer, what this run has saved says little.
      const before = tries === 1 ? loading.get(run)?.add(ids) : undefined
      const toFind = before?.union(rejectedIn(storable.pages)) ?? ids
      const { saved, lastRowId } = await saveOnce(database, run, storable, {
        ids,
        toFind,
        nowMs,
        once: pages,
        failed,
        onWaiting,
      })
      if (lastRowId === 0 && ids.size > 0) {
        const savedIds = new SavedIds()
        savedIds.add(ids)
        loading.set(run, savedIds)
      }
      addSaved(run, saved)
      return saved
    } catch (error) {
      if (isTooLong && (await dropTextIndexes(database))) continue
      if (!(error instanceof WrittenMeanwhile)) throw error
      if (tries === TRIES) throw error.lasting
    }
  }
}

async function saveOnce(
  database: Database,
  run: Run,
  { pages, replaced }: StorablePages,
  { ids, toFind, nowMs, once, failed, onWaiting }: Saving,
): Promise<{ saved: PagesSaved; lastRowId: number }> {
  const work = async (session: Session) => {
    await renewLease(session, run)
    const stored = ids.size === 0 ? NOTHING_NAMED : await findStored(session, run.organization, toFind)
    const decided = withReplaced(decidePages(run, pages, stored), replaced)
    const writing = writePages(session, run, decided, nowMs)
    onWaiting?.()
    const written = await writing.catch(failed)
    requirePages(written.pages, run.pages + decided.saved.pages.length, run)
    requireWritten(run, decided, written)
    return { saved: decided.saved, lastRowId: stored.lastRowId }
  }
  return await database.write(work, once, (session, { saved }) =>
    hasPages(session, run, run.pages + saved.pages.length),
  )
}

type Saving = {
  /** The ids in the pages, and those of them that the mirror may hold. */
  ids: ReadonlySet<string>
  toFind: ReadonlySet<string>
  nowMs: number
  once: object
  failed: (error: unknown) => never
  /** Called once all is sent, or at once for few customers. */
  onWaiting?: (() => void) | undefined
}

/** No insert fails where another program inserted the customer of a reject, so these are always looked up. */
function rejectedIn(pages: readonly SortedPage[]): Set<string> {
  return new Set(pages.flatMap(({ rejects }) => rejects.flatMap(({ recordId }) => recordId ?? [])))
}

const NOTHING_NAMED: Stored = { customers: new Map(), lastRowId: 0 }

/** A customer in which a text was replaced is read again by the next run, which counts it again. */
function withReplaced(decided: PagesDecided, replaced: StorablePages['replaced']): PagesDecided {
  const rows = replaced.flatMap((places, page) => places.map((place) => decided.saved.pages[page]?.rowIds[place] ?? 0))
  if (rows.length === 0) return decided
  return { ...decided, edited: new Set([...decided.edited, ...rows]) }
}

/** Throws AccountingBroken where a table did not take what it was given, and WrittenMeanwhile where that may be another program's doing. */
function requireWritten(run: Run, { inserted, updated, changes, rejects }: PagesDecided, written: Written): void {
  const isStamped = inserted.length + updated.size + changes.length > 0
  requireTaken(run, 'last_update', { given: isStamped ? 1 : 0, taken: written.stamp })
  requireTaken(run, 'customers', { given: inserted.length, taken: written.inserted })
  requireTaken(run, 'changes', { given: changes.length, taken: written.fed })
  requireTaken(run, 'rejects', { given: rejects.size, taken: written.rejected })
  const counts = { given: updated.size, taken: written.updated }
  if (counts.taken < counts.given) throw new WrittenMeanwhile(notTaken(run.organization, 'customers', counts))
}

/** Another program seems to have inserted or deleted a customer between the look-up and the writing. `lasting`: the error if it lasts. */
class WrittenMeanwhile extends Error {
  override name = 'WrittenMeanwhile' as const
  readonly lasting: unknown

  constructor(lasting: unknown) {
    super('another program wrote customers meanwhile')
    this.lasting = lasting
  }
}

/** Another program keeps inserting the customers, or a unique index that someone added does not allow them. */
function lastingCollision(error: unknown, { address }: Database): unknown {
  if (!isCustomerTaken(error)) return postgresError(error, address)
  return new MirrorUnusable(
    `${address}: another program keeps inserting or deleting customers, or a policy hides rows from this user. Stop that program, or drop that policy, then sync again.`,
    { code: 'busy' },
  )
}

/**
 * `created_at_utc` as PostgreSQL writes it, so that it can be written back whatever the year. The planner does not see how many ids
 * there are: for a thousand it would read the whole table, which takes ten times as long as to look them up.
 */
const FIND = `
  SELECT last.row_id AS last_row_id, customers.row_id, id, ${TEXT_FIELDS.join(', ')}, created_at_utc::text AS created_at_utc, extra,
    missing_since IS NOT NULL AS is_missing, removed_at IS NOT NULL AS is_removed
  FROM (SELECT greatest(
      (SELECT MAX(row_id) FROM customers WHERE organization = $1),
      (SELECT MAX(row_id) FROM edited_customers WHERE organization = $1)) AS row_id) AS last
  LEFT JOIN customers ON organization = $1 AND id = ANY (ARRAY(SELECT unnest($2::text[])))`

type Found = Customer & { last_row_id: number | null; row_id: number | null; is_missing: boolean; is_removed: boolean }

/**
 * The customers of the organization with these ids, and its highest row number. That of a row which was deleted by hand is not given to
 * another customer before a whole list was read: the list before and the windows of a scan may still refer to it.
 */
async function findStored(session: Session, organization: string, ids: ReadonlySet<string>): Promise<Stored> {
  const found = await session.all<Found>(FIND, organization, [...ids])
  const customers = new Map<string, Known>()
  for (const { last_row_id: _, row_id: rowId, is_missing: isMissing, is_removed: isRemoved, ...customer } of found)
    if (rowId !== null) customers.set(customer.id, { rowId, customer, isMissing, isRemoved })
  return { customers, lastRowId: found[0]?.last_row_id ?? 0 }
}

/** An organization that had no rows takes half a megabyte at most, and of a million ids a quarter is looked up for nothing. */
const BITS = 22

/**
 * Ids that a run has saved into an organization that had no rows before: no other one has to be looked up before it is inserted. A few
 * that it has not saved seem to be among them.
 */
class SavedIds {
  readonly #places = new RowSet()

  /** Adds ids, and returns those that may have been added before: all that were, and a few others. */
  add(ids: Iterable<string>): Set<string> {
    const before = new Set<string>()
    for (const id of ids) if (!this.#places.add(placeOf(id))) before.add(id)
    return before
  }
}

/** UUIDs of one time begin alike, and those of one machine may end alike: every character counts. */
function placeOf(id: string): number {
  let place = 0
  for (let at = 0; at < id.length; at += 1) place = Math.imul(place ^ id.charCodeAt(at), SPREAD)
  return place >>> (32 - BITS)
}

/** An odd number near 2^32 divided by the golden ratio: numbers in a row come to lie far apart. */
const SPREAD = 0x9e37_79b1

/** Pages as they are stored, and the places of their customers in which a text was replaced. */
type StorablePages = { pages: readonly SortedPage[]; replaced: readonly (readonly number[])[] }

/** Replaces what PostgreSQL cannot hold in the texts of pages, and counts each as the warning `malformed_text`. */
function storablePages(pages: readonly SortedPage[]): StorablePages {
  const storable = pages.map(storablePage)
  return { pages: storable.map(({ page }) => page), replaced: storable.map(({ replaced }) => replaced) }
}

function storablePage(page: SortedPage): { page: SortedPage; replaced: readonly number[] } {
  const rejects = page.rejects.map(storableReject)
  let count = rejects.filter((reject, index) => reject !== page.rejects[index]).length
  const replaced: number[] = []
  const customers = page.customers.map((customer, index) => {
    const storable = storableCustomer(customer)
    if (storable === undefined) return customer
    count += storable.count
    replaced.push(page.places[index] ?? 0)
    return storable.customer
  })
  if (count === 0) return { page, replaced }
  const warnings: Warnings = { ...page.warnings, malformed_text: (page.warnings.malformed_text ?? 0) + count }
  return { page: { ...page, customers, rejects, warnings }, replaced }
}

/** Undefined where nothing is replaced. */
function storableCustomer(customer: Customer): { customer: Customer; count: number } | undefined {
  const extra = customer.extra === null ? null : storableJson(customer.extra)
  if (extra === customer.extra && !TEXT_FIELDS.some((field) => customer[field]?.includes('\0'))) return undefined
  const texts = TEXT_FIELDS.filter((field) => customer[field]?.includes('\0'))
  const stored = { ...customer, extra }
  for (const field of texts) stored[field] = storableText(customer[field] ?? '')
  return { customer: stored, count: texts.length + (extra === customer.extra ? 0 : 1) }
}

function storableReject(reject: Reject): Reject {
  const payload = storableJson(storableText(reject.payload))
  const reasons = reject.reasons.map(({ field, message }) => ({
    field: storableText(field),
    message: storableText(message),
  }))
  const isSame = reasons.every(({ field, message }, at) => {
    const before = reject.reasons[at]
    return field === before?.field && message === before.message
  })
  return payload === reject.payload && isSame ? reject : { ...reject, payload, reasons }
}
