import type { Retired } from '../../../organizations.ts'
import type { Connection } from '../opening/database.ts'
import type { Clocks } from '../run/lease.ts'
import { noteRetirement, retirementOf } from './retirement.ts'
import { closeAbandoned } from '../run/runs.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { retiredAlready } from '../../mirror-errors.ts'
import { deleteRows, forgetReading, requireUnleased, withoutTriggers } from './organization-tables.ts'

/**
 * Marks every active customer of the organization as removed, with a change each, put down to its last run, and notes since when
 * it is retired. Its next run ends that. The caller holds the transaction.
 */
export function retireOrganization(db: Connection, organization: string, clocks: Clocks): Retired {
  requireUnleased(db, organization, 'retired', clocks)
  const retiredAt = sqlTime(clocks.nowMs)
  const before = retirementOf(db, organization)
  if (before !== undefined) throw retiredAlready(organization, before)
  noteRetirement(db, organization, retiredAt)
  closeAbandoned(db, { organization }, clocks.nowMs)
  deleteRows(db, ['held_removals', 'absences'], organization)
  statement(db, 'UPDATE rejects SET resolved_at = ? WHERE organization = ? AND resolved_at IS NULL').run(
    retiredAt,
    organization,
  )
  const removed = withoutTriggers(db, ['customers_edited'], () => removeAll(db, organization, clocks.nowMs))
  // Row numbers there refer to customers that are no longer expected in the list.
  forgetReading(db, organization)
  return { removed }
}

/** Returns the number of customers that were active. */
function removeAll(db: Connection, organization: string, nowMs: number): number {
  const lastRun = statement<[string], number | null>(db, 'SELECT MAX(id) FROM runs WHERE organization = ?')
  const values = { organization, now: sqlTime(nowMs), run: lastRun.pluck().get(organization) ?? null }
  statement<[Record<string, unknown>], never>(
    db,
    `INSERT INTO changes (run_id, organization, id, change, at, missing_since)
     SELECT @run, organization, id, 'removed', @now, missing_since FROM customers
     WHERE organization = @organization AND removed_at IS NULL ORDER BY row_id`,
  ).run(values)
  const { changes } = statement<[Record<string, unknown>], never>(
    db,
    `UPDATE customers SET removed_at = @now, is_active = 0, last_run_id = @run, updated_at = @stamp
     WHERE organization = @organization AND removed_at IS NULL`,
  ).run({ ...values, stamp: updateStamp(db, nowMs) })
  return changes
}
