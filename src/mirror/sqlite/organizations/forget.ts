import type { Contents } from '../../../organizations.ts'
import { writeTransaction, type Connection } from '../opening/database.ts'
import { withoutForeignKeys } from '../opening/foreign-keys.ts'
import type { Clocks } from '../run/lease.ts'
import { deletingSecurely, emptyWal, purge } from '../purge.ts'
import { statement } from '../statement.ts'
import { forgetWindows } from '../run/windows.ts'
import { KNOWN_UNDER_A_FORGOTTEN_ONE, ORGANIZATION_TABLES } from '../../sql/organization-tables.ts'
import { deleteRows, hasRows, requireUnleased, withoutTriggers } from './organization-tables.ts'

/** What the mirror holds of an organization. */
export function contentsOf(db: Connection, organization: string): Contents {
  const count = (table: keyof Contents) =>
    statement<[string], number>(db, `SELECT COUNT(*) FROM ${table} WHERE organization = ?`).pluck().get(organization) ??
    0
  const [customers, changes, runs] = [count('customers'), count('changes'), count('runs')]
  return { customers, changes, runs, rejects: count('rejects'), forgotten: count('forgotten') }
}

/**
 * Deletes every row of an organization in one transaction, then writes the file anew without the bytes that they leave. Returns
 * whether that was possible. If not, or if the process is killed before, the organization stays noted as not wholly forgotten,
 * and the same call does the rest.
 */
export function forgetOrganization(db: Connection, file: string, organization: string, clocks: Clocks): boolean {
  // Each deleted run would be looked for in every table that refers to runs.
  return withoutForeignKeys(db, () => {
    deletingSecurely(db, () => writeTransaction(db, file, () => deleteAll(db, organization, clocks)))
    // With a reader in the way, the whole file would be written into the WAL, and stay there.
    if (!emptyWal(db) || !purge(db)) return false
    deletingSecurely(db, () => writeTransaction(db, file, () => deleteRows(db, ['unfinished_forgets'], organization)))
    emptyWal(db)
    return true
  })
}

/** Whether the organization is forgotten, and bytes of it may be left. */
export function isUnfinished(db: Connection, organization: string): boolean {
  return hasRows(db, 'unfinished_forgets', organization)
}

function deleteAll(db: Connection, organization: string, clocks: Clocks): void {
  requireUnleased(db, organization, 'forgotten', clocks)
  forgetWindows(db, organization)
  withoutTriggers(db, ['customers_deleted'], () => deleteRows(db, ORGANIZATION_TABLES, organization))
  hideNameInErrors(db, organization)
  statement(db, 'INSERT INTO unfinished_forgets (organization) VALUES (?)').run(organization)
}

/** A run that was refused because its customers were known under this organization named it. */
function hideNameInErrors(db: Connection, organization: string): void {
  statement(
    db,
    `UPDATE runs SET error = organization || ': ${KNOWN_UNDER_A_FORGOTTEN_ONE}'
     WHERE error_code = 'tenant-mixup' AND instr(error, ' under ' || ? || '. ') > 0`,
  ).run(organization)
}
