import { TEXT_FIELDS, warn, type Customer, type Warnings } from '../customer.ts'
import type { RecordCounts } from '../report.ts'
import type { Connection } from './database.ts'
import type { Run } from './runs.ts'
import { sqlTime } from './sql-time.ts'
import { statement } from './statement.ts'

/** A customer as stored, with what is needed to tell what changed. */
type StoredCustomer = Customer & { row_id: number; missing_since: string | null; removed_at: string | null }

/** What is compared to tell whether a customer changed; `created_at_utc` follows from `created_at`. */
const COMPARED_FIELDS = [...TEXT_FIELDS, 'extra'] as const
const WRITTEN_FIELDS = [...COMPARED_FIELDS, 'created_at_utc'] as const

/**
 * Inserts new customers and updates those that changed or came back; a row that did not change is not written. A customer
 * the run has already read is a duplicate and is left as first read, so that a list that holds one id twice does not
 * change the mirror back and forth every night. Adds to `counts` what became of each, to
 * `warnings` what was odd about it, and to `seen` the rows that the run had not received before. Returns the row of each
 * by its id.
 */
export function saveCustomers(
  db: Connection,
  run: Run,
  customers: readonly Customer[],
  { counts, warnings, seen }: Tallies,
  nowMs: number,
): Map<string, number> {
  const stored = findStored(db, run, customers)
  for (const customer of customers) {
    const before = stored.get(customer.id)
    if (before === undefined) {
      const row_id = insertCustomer(db, run, customer, nowMs)
      stored.set(customer.id, { ...customer, row_id, missing_since: null, removed_at: null })
      seen.add(row_id)
      counts.inserted += 1
    } else if (run.seen.has(before.row_id) || seen.has(before.row_id)) {
      counts.duplicates += 1
      if (changedFields(before, customer).length > 0) warn(warnings, 'conflicting_duplicate')
    } else {
      saveAgain(db, run, before, customer, counts, nowMs)
      seen.add(before.row_id)
      stored.set(customer.id, { ...before, ...customer })
    }
  }
  return new Map(Array.from(stored.values(), ({ id, row_id }) => [id, row_id]))
}

type Tallies = { counts: RecordCounts; warnings: Warnings; seen: Set<number> }

/** One query a page: a lookup a row costs more than twice as much. */
function findStored(db: Connection, run: Run, customers: readonly Customer[]): Map<string, StoredCustomer> {
  const rows = statement<[string, string], StoredCustomer>(
    db,
    `SELECT row_id, id, ${WRITTEN_FIELDS.join(', ')}, missing_since, removed_at FROM customers
     WHERE organization = ? AND id IN (SELECT value FROM json_each(?))`,
  ).all(run.organization, JSON.stringify(customers.map(({ id }) => id)))
  return new Map(rows.map((row) => [row.id, row]))
}

function insertCustomer(db: Connection, run: Run, customer: Customer, nowMs: number): number {
  const { lastInsertRowid } = statement<[Record<string, unknown>], never>(
    db,
    `INSERT INTO customers (organization, id, ${WRITTEN_FIELDS.join(', ')}, first_seen_at, changed_at, last_run_id)
     VALUES (@organization, @id, ${WRITTEN_FIELDS.map((field) => `@${field}`).join(', ')}, @now, @now, @run_id)`,
  ).run({ ...customer, organization: run.organization, now: sqlTime(nowMs), run_id: run.id })
  if (!run.isBaseline) recordChange(db, run, customer.id, 'added', null, nowMs)
  return Number(lastInsertRowid)
}

function saveAgain(
  db: Connection,
  run: Run,
  before: StoredCustomer,
  customer: Customer,
  counts: RecordCounts,
  nowMs: number,
): void {
  const changed = changedFields(before, customer)
  if (changed.length === 0 && before.missing_since === null && before.removed_at === null) {
    counts.unchanged += 1
    return
  }
  statement<[Record<string, unknown>], never>(
    db,
    `UPDATE customers SET ${WRITTEN_FIELDS.map((field) => `${field} = @${field}`).join(', ')},
       missing_since = NULL, missing_proven = 0, missing_scans = 0, removed_at = NULL,
       changed_at = CASE @changed WHEN 1 THEN @now ELSE changed_at END,
       last_run_id = @run_id
     WHERE row_id = @row_id`,
  ).run({
    ...customer,
    changed: changed.length > 0 ? 1 : 0,
    now: sqlTime(nowMs),
    run_id: run.id,
    row_id: before.row_id,
  })
  counts.updated += 1
  const fields = changed.length === 0 ? null : beforeAndAfter(before, customer, changed)
  if (before.removed_at !== null) {
    counts.returned += 1
    recordChange(db, run, customer.id, 'returned', fields, nowMs)
  } else if (changed.length > 0 && !run.isBaseline) {
    recordChange(db, run, customer.id, 'changed', fields, nowMs)
  }
}

function changedFields(before: Customer, after: Customer): (typeof COMPARED_FIELDS)[number][] {
  return COMPARED_FIELDS.filter((field) => before[field] !== after[field])
}

function beforeAndAfter(before: Customer, after: Customer, fields: readonly (typeof COMPARED_FIELDS)[number][]) {
  return JSON.stringify(Object.fromEntries(fields.map((field) => [field, [before[field], after[field]]])))
}

/** Adds to the feed of changes. `fields` is JSON: field → [before, after]. */
function recordChange(
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
