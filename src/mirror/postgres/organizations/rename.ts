import type { Renamed } from '../../../organizations.ts'
import { ORGANIZATION_TABLES, TAKING_TABLES, type OrganizationTable } from '../../sql/organization-tables.ts'
import { nameTaken } from '../../mirror-errors.ts'
import type { Session } from '../session.ts'
import { updateStamp } from '../update-stamp.ts'
import { forgetWindows } from '../run/windows.ts'
import { changeUnnoticed, deleteRows, hasRows } from './organization-rows.ts'
import { requireUnleased } from './unleased.ts'

/**
 * Writes the new name in every row of the organization. Its list as last read stays valid, and so do the windows of an interrupted
 * run, so its next run goes on as if nothing had happened. The caller holds the transaction.
 */
export async function renameOrganization(
  session: Session,
  { from, to }: { from: string; to: string },
  nowMs: number,
): Promise<Renamed> {
  // In one order, so that two of these do not wait for each other.
  for (const name of [from, to].toSorted()) await requireUnleased(session, name, 'renamed')
  await requireFree(session, to)
  await forgetWindows(session, to)
  await deleteRows(session, ['leases'], from)
  await deleteRows(
    session,
    ORGANIZATION_TABLES.filter((table) => table !== 'runs'),
    to,
  )
  await changeUnnoticed(session)
  const renamed: Partial<Record<OrganizationTable, number>> = {}
  for (const table of ORGANIZATION_TABLES) renamed[table] = await rename(session, table, { from, to, nowMs })
  const { customers = 0, changes = 0, runs = 0 } = renamed
  return { customers, changes, runs }
}

/** A run that failed before it saved anything leaves only its report, and that keeps its place. */
async function requireFree(session: Session, to: string): Promise<void> {
  const wasRead = `SELECT id FROM runs WHERE organization = $1 AND status = 'complete' LIMIT 1`
  const isRead = (await session.first(wasRead, to)) !== undefined
  if (isRead || (await hasRows(session, TAKING_TABLES, to))) throw nameTaken(to)
}

async function rename(
  session: Session,
  table: OrganizationTable,
  { from, to, nowMs }: { from: string; to: string; nowMs: number },
): Promise<number> {
  if (table !== 'customers')
    return session.run(`UPDATE ${table} SET organization = $2 WHERE organization = $1`, from, to)
  const sql = 'UPDATE customers SET organization = $2, updated_at = $3::timestamptz WHERE organization = $1'
  return session.run(sql, from, to, await updateStamp(session, nowMs))
}
