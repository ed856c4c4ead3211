import { MEMORY_OF_LIST, type OrganizationTable } from '../../sql/organization-tables.ts'
import { underway } from '../../mirror-errors.ts'
import type { Connection } from '../opening/database.ts'
import { findLease, type Clocks } from '../run/lease.ts'
import { statement } from '../statement.ts'
import { forgetWindows } from '../run/windows.ts'

/** The organizations of which the mirror holds rows, in order. */
export function listNames(db: Connection): string[] {
  return statement<[], string>(
    db,
    `SELECT organization FROM runs UNION SELECT organization FROM customers
     UNION SELECT organization FROM forgotten_keys ORDER BY 1`,
  )
    .pluck()
    .all()
}

/** Whether the table has a row of the organization. */
export function hasRows(db: Connection, table: OrganizationTable, organization: string): boolean {
  return statement(db, `SELECT 1 FROM ${table} WHERE organization = ? LIMIT 1`).get(organization) !== undefined
}

/** Deletes the organization's rows from these tables; returns the number of each. */
export function deleteRows<Table extends OrganizationTable>(
  db: Connection,
  tables: readonly Table[],
  organization: string,
): Map<Table, number> {
  return new Map(
    tables.map((table) => [
      table,
      statement(db, `DELETE FROM ${table} WHERE organization = ?`).run(organization).changes,
    ]),
  )
}

/** Deletes what is kept of the list of the organization, and the windows of an interrupted run: its next run reads every record anew. */
export function forgetReading(db: Connection, organization: string): void {
  deleteRows(db, MEMORY_OF_LIST, organization)
  forgetWindows(db, organization)
}

/** Throws OrganizationLeased while a run has the organization; deletes a lease that was left behind. */
export function requireUnleased(db: Connection, organization: string, what: string, clocks: Clocks): void {
  const lease = findLease(db, organization, clocks)
  if (lease !== undefined) throw underway(lease, organization, what)
  deleteRows(db, ['leases'], organization)
}

/**
 * Runs `work` without these triggers, which note what is changed by hand row by row. The caller holds the transaction, so
 * nothing else writes meanwhile, and they are there again even if the process is killed.
 */
export function withoutTriggers<Result>(db: Connection, names: readonly string[], work: () => Result): Result {
  const find = statement<[string], string>(db, `SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?`)
  const triggers = names.flatMap((name) => find.pluck().get(name) ?? [])
  for (const name of names) db.exec(`DROP TRIGGER IF EXISTS ${name}`)
  const result = work()
  for (const sql of triggers) db.exec(sql)
  return result
}
