import type { Run } from '../../run.ts'
import { warn, type Customer, type Warnings } from '../../customer.ts'
import type { RecordCounts } from '../../report.ts'
import { forgetAbsences } from './removals/absences.ts'
import { beforeAndAfter, changedFields, COMPARED_FIELDS, ownChanges, type ComparedField } from '../changed-fields.ts'
import type { Connection } from './database.ts'
import type { Tallies } from '../page-accounting.ts'
import type { CustomersSaved } from '../saved-page.ts'
import { sqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'
import { updateStamp } from './update-stamp.ts'

/** A stored customer, with the columns needed to detect changes. */
type StoredCustomer = Customer & { row_id: number; missing_since: string | null; removed_at: string | null }

const WRITTEN_FIELDS = [...COMPARED_FIELDS, 'created_at_utc'] as const

const FIND = `SELECT row_id, id, ${WRITTEN_FIELDS.join(', ')}, missing_since, removed_at FROM customers
     WHERE organization = ? AND id IN (SELECT value FROM json_each(?))`

const INSERT = `INSERT INTO customers (organization, id, ${WRITTEN_FIELDS.join(', ')}, last_run_id, updated_at, first_seen_at, changed_at)
     VALUES (?, ?, ${WRITTEN_FIELDS.map(() => '?').join(', ')}, ?, ?, ?, ?)
     ON CONFLICT (organization, id) DO NOTHING`

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
  { counts, warnings, seen, written, inserted }: Tallies & { inserted: Inserted },
  nowMs: number,
): CustomersSaved {
  const rowIds: (number | undefined)[] = customers.map(() => undefined)
  const unchanged = new Set<number>()
  const insert = insertion(db, run, nowMs)
  const rest: Placed[] = []
  customers.forEach((customer, place) => {
    const before = inserted.get(customer.id)
    if (before !== undefined) saveKnown(place, customer, storedAs(before))
    // On an initial sync, INSERT first: a conflict identifies the few existing rows.
    else if (!run.isBaseline || !isInserted(place, customer)) rest.push([place, customer])
    else inserted.set(customer.id, { customer, rowId: rowIds[place] ?? 0 })
  })
  const stored = findStored(db, run, rest)
  const twice: Placed[] = []
  for (const [place, customer] of rest) {
    const before = stored.get(customer.id)
    if (before !== undefined) stored.set(customer.id, saveKnown(place, customer, before))
    else if (!isInserted(place, customer)) twice.push([place, customer])
  }
  const storedNow = findStored(db, run, twice)
  for (const [place, customer] of twice) {
    const before = storedNow.get(customer.id)
    if (before !== undefined) saveKnown(place, customer, before)
  }
  return { rowIds, unchanged }

  /** Inserts the customer if it is new; false if it is not. */
  function isInserted(place: number, customer: Customer): boolean {
    const rowId = insert(customer)
    if (rowId === undefined) return false
    rowIds[place] = rowId
    seen.add(rowId)
    counts.inserted += 1
    return true
  }

  /** Saves a known customer, and returns it as stored. */
  function saveKnown(place: number, customer: Customer, before: StoredCustomer): StoredCustomer {
    const rowId = before.row_id
    rowIds[place] = rowId
    const differing = changedFields(before, customer)
    const isSame = differing.length === 0
    if (isSame && !written.has(rowId) && !run.written.has(rowId)) unchanged.add(place)
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

function storedAs({ customer, rowId }: { customer: Customer; rowId: number }): StoredCustomer {
  return { ...customer, row_id: rowId, missing_since: null, removed_at: null }
}

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

/** A customer with its index on the page. */
type Placed = readonly [place: number, customer: Customer]

/** One query for each page: a look-up for each row costs more than twice as much. */
function findStored(db: Connection, run: Run, customers: readonly Placed[]): Map<string, StoredCustomer> {
  if (customers.length === 0) return new Map()
  const rows = statement<[string, string], StoredCustomer>(db, FIND).all(
    run.organization,
    JSON.stringify(customers.map(([, { id }]) => id)),
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Inserts a customer and returns its row; undefined if the id exists. Parameters are positional: named ones would cost more than
 * the insert.
 */
function insertion(db: Connection, run: Run, nowMs: number): (customer: Customer) => number | undefined {
  const now = sqlTime(nowMs)
  const insert = statement(db, INSERT)
  const values: unknown[] = []
  return (customer) => {
    let place = 0
    values[place++] = run.organization
    values[place++] = customer.id
    for (const field of WRITTEN_FIELDS) values[place++] = customer[field]
    values[place++] = run.id
    values[place++] = updateStamp(db, nowMs)
    values[place++] = now
    values[place++] = now
    const { changes, lastInsertRowid } = insert.run(values)
    if (changes === 0) return undefined
    if (!run.isBaseline) recordChange(db, run, customer.id, 'added', null, nowMs)
    return Number(lastInsertRowid)
  }
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
  statement<[Record<string, unknown>], never>(db, updateOf({ before, customer, differing: changed })).run({
    ...customer,
    changed: recorded.length > 0 ? 1 : 0,
    now: sqlTime(nowMs),
    updated_at: updateStamp(db, nowMs),
    run_id: run.id,
    row_id: before.row_id,
  })
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
  statement(db, 'INSERT INTO changes (run_id, organization, id, change, fields, at) VALUES (?, ?, ?, ?, ?, ?)').run(
    run.id,
    run.organization,
    id,
    change,
    fields,
    sqlTime(nowMs),
  )
}
