import type { Renamed } from '../../../organizations.ts'
import type { Connection } from '../opening/database.ts'
import type { Clocks } from '../run/lease.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { forgetWindows } from '../run/windows.ts'
import { ORGANIZATION_TABLES, TAKING_TABLES, type OrganizationTable } from '../../sql/organization-tables.ts'
import { nameTaken } from '../../mirror-errors.ts'
import { deleteRows, hasRows, requireUnleased, withoutTriggers } from './organization-tables.ts'

/**
 * Writes the new name in every row of the organization. Its list as last read stays valid, and so do the windows of an interrupted
 * run, so its next run goes on as if nothing had happened. The caller holds the transaction.
 */
export function renameOrganization(
  db: Connection,
  { from, to }: { from: string; to: string },
  clocks: Clocks,
): Renamed {
  for (const name of [from, to]) requireUnleased(db, name, 'renamed', clocks)
  requireFree(db, to)
  forgetWindows(db, to)
  deleteRows(
    db,
    ORGANIZATION_TABLES.filter((table) => table !== 'runs'),
    to,
  )
  const rows = withoutTriggers(db, ['customers_edited'], () =>
    ORGANIZATION_TABLES.map((table) => [table, rename(db, table, { from, to }, clocks.nowMs)] as const),
  )
  const { customers = 0, changes = 0, runs = 0 }: Partial<Record<OrganizationTable, number>> = Object.fromEntries(rows)
  return { customers, changes, runs }
}

/** A run that failed before it saved anything leaves only its report, and that keeps its place. */
function requireFree(db: Connection, to: string): void {
  const wasRead = statement(db, `SELECT 1 FROM runs WHERE organization = ? AND status = 'complete' LIMIT 1`)
  const taken = TAKING_TABLES.some((table) => hasRows(db, table, to))
  if (taken || wasRead.get(to) !== undefined) throw nameTaken(to)
}

function rename(db: Connection, table: OrganizationTable, { from, to }: { from: string; to: string }, nowMs: number) {
  if (table === 'customers') {
    const sql = 'UPDATE customers SET organization = ?, updated_at = ? WHERE organization = ?'
    return statement(db, sql).run(to, updateStamp(db, nowMs), from).changes
  }
  return statement(db, `UPDATE ${table} SET organization = ? WHERE organization = ?`).run(to, from).changes
}
