import type { Organizations, Retired } from '../../../organizations.ts'
import { openDatabase, readTransaction, writeTransaction, type Connection } from '../opening/database.ts'
import { contentsOf, forgetOrganization, isUnfinished } from './forget.ts'
import { listNames, deleteRows, forgetReading, requireUnleased, withoutTriggers } from './organization-tables.ts'
import { renameOrganization } from './rename.ts'
import type { Clocks } from '../run/lease.ts'
import { noteRetirement, retirementOf } from './retirement.ts'
import { closeAbandoned } from '../run/runs.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { retiredAlready } from '../../mirror-errors.ts'

/** The page cache, in KB: with the indexes of a million customers in memory, each of their pages is written once. */
const CACHE_KB = 256_000

/** The organizations of the mirror at `file`. Throws MirrorUnusable `missing` if there is none. */
export function openOrganizations(file: string): Organizations {
  // To read: no mirror is made where there is none.
  openDatabase(file, 'read').close()
  const db = openDatabase(file, 'write')
  db.pragma(`cache_size = -${CACHE_KB}`)
  return {
    list: async () => readTransaction(db, file, () => listNames(db)),
    rename: async (names, clocks) => writeTransaction(db, file, () => renameOrganization(db, names, clocks)),
    retire: async (organization, clocks) =>
      writeTransaction(db, file, () => retireOrganization(db, organization, clocks)),
    contents: async (organization) => readTransaction(db, file, () => contentsOf(db, organization)),
    isUnfinished: async (organization) => readTransaction(db, file, () => isUnfinished(db, organization)),
    forget: async (organization, clocks) => forgetOrganization(db, file, organization, clocks),
    close: async () => void db.close(),
  }
}

/**
 * Marks every active customer of the organization as removed, with a change each, put down to its last run, and notes since when
 * it is retired. Its next run ends that. The caller holds the transaction.
 */
function retireOrganization(db: Connection, organization: string, clocks: Clocks): Retired {
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
