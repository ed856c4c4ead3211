import type { Run } from '../../run.ts'
import { warn, type Customer, type Warnings } from '../../customer.ts'
import type { RecordCounts } from '../../report.ts'
import { initialIdsOf } from './id-index.ts'
import type { InitialIds } from './initial-ids.ts'
import { insertion, WRITTEN_FIELDS, type Insertion } from './insertion.ts'
import { findRows, findStored, type Placed, type StoredCustomer } from './stored-customers.ts'
import { forgetAbsences } from './removals/absences.ts'
import { beforeAndAfter, changedFields, ownChanges, type ComparedField } from '../changed-fields.ts'
import type { Connection } from './database.ts'
import type { Tallies } from '../page-accounting.ts'
import { requireTaken } from '../rows-taken.ts'
import type { CustomersSaved } from '../saved-page.ts'
import { sqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'
import { updateStamp } from './update-stamp.ts'

/** Columns with an index of their own. SQLite writes an index again for every column that is set, changed or not. */
const INDEXED_FIELDS: readonly string[] = ['email', 'language']

/** Sets every column that is in no index, and of the others only what changes. */
function updateOf({ before, differing }: Differing): string {
  const fields = WRITTEN_FIELDS.filter(
    (field) => !INDEXED_FIELDS.includes(field) || differing.some((it) => it === field),
  )
  const isAbsent = before.missing_since !== null || before.removed_at !== null
  return `UPDATE customers SET ${fields.map((field) => `${field} = @${field}`).join(', ')},
       ${isAbsent ? 'missing_since = NULL, removed_at = NULL, is_active = 1,' : ''} updated_at = @updated_at,
       changed_at = CASE @changed WHEN 1 THEN @now ELSE changed_at END,
       last_run_id = @run_id
     WHERE row_id = @row_id`
}

/**
 * Inserts new customers and updates those that changed or returned; an unchanged row is not written. A customer that the run has
 * already read is a duplicate and keeps the first record, so that a list with one id twice does not change the mirror every
 * night. Adds the results to `counts`, odd values to `warnings`, rows received for the first time in this run to `seen`,
 * updated ones to `written`, and those an initial sync inserts to `inserted`.
 */
export function saveCustomers(
  db: Connection,
  run: Run,
  customers: readonly Customer[],
  tallies: SaveTallies,
  nowMs: number,
): CustomersSaved {
  return new CustomersSaving({ db, run, tallies, nowMs }, customers.length).save(customers)
}

type SaveTallies = Tallies & { inserted: Inserted }

type Saving = { db: Connection; run: Run; tallies: SaveTallies; nowMs: number }

/** The customers of one page while they are saved. */
class CustomersSaving {
  readonly #saving: Saving
  readonly #insert: Insertion
  /** Where the run knows which ids are there. */
  readonly #ids: InitialIds | undefined
  readonly #rowIds: (number | undefined)[]
  readonly #unchanged = new Set<number>()

  constructor(saving: Saving, count: number) {
    const { db, run, nowMs } = saving
    this.#saving = saving
    this.#ids = initialIdsOf(run)
    this.#insert = insertion(db, run, { nowMs, isIndexed: this.#ids === undefined })
    this.#rowIds = Array.from({ length: count })
  }

  save(customers: readonly Customer[]): CustomersSaved {
    const { db, run } = this.#saving
    const ids = this.#ids
    const placed = customers.map((customer, place): Placed => [place, customer])
    const rest = ids === undefined ? this.#insertFirst(placed) : this.#insertNew(placed, ids)
    const stored = ids === undefined ? findStored(db, run, rest) : findRows(db, run, rest, ids)
    const twice = this.#saveRest(rest, stored)
    const lost = this.#saveRest(twice, findStored(db, run, twice))
    requireTaken(run, 'customers', { given: twice.length, taken: twice.length - lost.length })
    return { rowIds: this.#rowIds, unchanged: this.#unchanged }
  }

  /** On an initial sync, INSERT first: a conflict identifies the few existing rows. Returns the others. */
  #insertFirst(placed: readonly Placed[]): readonly Placed[] {
    const { run, tallies } = this.#saving
    if (!run.isBaseline) return placed
    return placed.filter(([place, it]) => tallies.inserted.has(it.id) || !this.#isInserted(place, it))
  }

  /** Where the run knows what is there, INSERT several at a time. Returns those that may be there. */
  #insertNew(placed: readonly Placed[], ids: InitialIds): Placed[] {
    const first = this.#insert.nextRow()
    const fresh: Placed[] = []
    const others: Placed[] = []
    for (const entry of placed) (ids.addNew(entry[1].id, first + fresh.length) ? fresh : others).push(entry)
    this.#insert.all(
      fresh.map(([, customer]) => customer),
      first,
    )
    for (const [nth, [place]] of fresh.entries()) this.#count(place, first + nth)
    return others
  }

  /** Saves those that are stored, and inserts the others; returns those that came in between. */
  #saveRest(rest: readonly Placed[], stored: Map<string, StoredCustomer>): Placed[] {
    const twice: Placed[] = []
    for (const [place, customer] of rest) {
      const before = this.#insertedBefore(customer) ?? stored.get(customer.id)
      if (before !== undefined) stored.set(customer.id, this.#saveKnown(place, customer, before))
      else if (!this.#isInserted(place, customer)) twice.push([place, customer])
    }
    return twice
  }

  /** Inserts the customer if it is new; false if it is not. */
  #isInserted(place: number, customer: Customer): boolean {
    const { db, run, tallies, nowMs } = this.#saving
    const rowId = this.#insert.one(customer)
    if (rowId === undefined) return false
    this.#count(place, rowId)
    this.#ids?.add(customer.id, rowId)
    if (run.isBaseline) tallies.inserted.set(customer.id, { customer, rowId })
    else recordChange(db, run, customer.id, 'added', null, nowMs)
    return true
  }

  #count(place: number, rowId: number): void {
    this.#rowIds[place] = rowId
    this.#saving.tallies.seen.add(rowId)
    this.#saving.tallies.counts.inserted += 1
  }

  #insertedBefore({ id }: Customer): StoredCustomer | undefined {
    const before = this.#saving.tallies.inserted.get(id)
    return before && { ...before.customer, row_id: before.rowId, missing_since: null, removed_at: null }
  }

  /** Saves a known customer, and returns it as stored. */
  #saveKnown(place: number, customer: Customer, before: StoredCustomer): StoredCustomer {
    const { db, run, tallies, nowMs } = this.#saving
    const { counts, warnings, seen, written } = tallies
    const rowId = before.row_id
    this.#rowIds[place] = rowId
    const differing = changedFields(before, customer)
    const isSame = differing.length === 0
    if (isSame && !written.has(rowId) && !run.written.has(rowId)) this.#unchanged.add(place)
    if (run.seen.has(rowId) || !seen.add(rowId)) {
      counts.duplicates += 1
      if (!isSame) noteConflict(db, run, rowId, warnings)
      return before
    }
    if (!saveAgain(db, run, { before, customer, differing }, counts, nowMs)) return before
    written.add(rowId)
    return { ...before, ...customer }
  }
}

/**
 * The customers that this transaction inserted, by their ids: windows of an initial sync overlap, and a customer that stands in two
 * of them is a duplicate without being looked up.
 */
export type Inserted = Map<string, { readonly customer: Customer; readonly rowId: number }>

function noteConflict(db: Connection, run: Run, rowId: number, warnings: Warnings): void {
  warn(warnings, 'conflicting_duplicate')
  noteEdited(db, run, rowId)
}

/**
 * If a customer has two different records, the first is stored, but the list may keep the other one, when the window of the first
 * was read again. So the next run compares this customer field by field.
 */
export function noteEdited(db: Connection, run: Run, rowId: number): void {
  const note = statement(db, 'REPLACE INTO edited_customers (organization, row_id) VALUES (?, ?)')
  note.run(run.organization, rowId)
}

/** A customer as stored and as received, and the fields that differ. */
type Differing = { before: StoredCustomer; customer: Customer; differing: readonly ComparedField[] }

/** Updates the row if anything changed; whether it did. */
function saveAgain(
  db: Connection,
  run: Run,
  { before, customer, differing: changed }: Differing,
  counts: RecordCounts,
  nowMs: number,
): boolean {
  if (changed.length === 0 && before.missing_since === null && before.removed_at === null) {
    counts.unchanged += 1
    return false
  }
  const recorded = ownChanges({ before, after: customer, differing: changed }, run.privacy?.unfilled)
  const update = statement<[Record<string, unknown>], never>(db, updateOf({ before, customer, differing: changed }))
  const { changes } = update.run({
    ...customer,
    changed: recorded.length > 0 ? 1 : 0,
    now: sqlTime(nowMs),
    updated_at: updateStamp(db, nowMs),
    run_id: run.id,
    row_id: before.row_id,
  })
  requireTaken(run, 'customers', { given: 1, taken: changes })
  if (before.missing_since !== null) forgetAbsences(db, before.row_id)
  counts.updated += 1
  const fields = recorded.length === 0 ? null : beforeAndAfter(before, customer, recorded)
  if (before.removed_at !== null) {
    counts.returned += 1
    recordChange(db, run, customer.id, 'returned', fields, nowMs)
  } else if (recorded.length > 0 && !run.isBaseline) {
    recordChange(db, run, customer.id, 'changed', fields, nowMs)
  }
  return true
}

/** Adds to the feed of changes. `fields` is JSON: field → [before, after]. */
export function recordChange(
  db: Connection,
  run: Run,
  id: string,
  change: 'added' | 'changed' | 'returned',
  fields: string | null,
  nowMs: number,
): void {
  const { changes } = statement(
    db,
    'INSERT INTO changes (run_id, organization, id, change, fields, at) VALUES (?, ?, ?, ?, ?, ?)',
  ).run(run.id, run.organization, id, change, fields, sqlTime(nowMs))
  requireTaken(run, 'changes', { given: 1, taken: changes })
}
