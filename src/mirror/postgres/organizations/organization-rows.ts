import { MEMORY_OF_LIST, type OrganizationTable } from '../../sql/organization-tables.ts'
import { organizationsIn } from '../reading/organizations-in.ts'
import { forgetWindows } from '../run/windows.ts'
import type { Session } from '../session.ts'

/** The organizations of which the mirror holds rows, in order. */
export async function listNames(session: Session): Promise<string[]> {
  const rows = await session.all<{ organization: string }>(
    `WITH RECURSIVE ${organizationsIn('runs', 'run')}, ${organizationsIn('customers', 'listed')}
     SELECT organization FROM run WHERE organization IS NOT NULL
     UNION SELECT organization FROM listed WHERE organization IS NOT NULL
     UNION SELECT organization FROM forgotten_keys ORDER BY 1`,
  )
  return rows.map(({ organization }) => organization)
}

/** Whether one of the tables has a row of the organization. */
export async function hasRows(
  session: Session,
  tables: readonly OrganizationTable[],
  organization: string,
): Promise<boolean> {
  const any = tables.map((table) => `EXISTS (SELECT FROM ${table} WHERE organization = $1)`).join(' OR ')
  const found = await session.first<{ has_rows: boolean }>(`SELECT ${any} AS has_rows`, organization)
  return found?.has_rows === true
}

/** Deletes the organization's rows from these tables. */
export async function deleteRows(
  session: Session,
  tables: readonly OrganizationTable[],
  organization: string,
): Promise<void> {
  for (const table of tables) await session.run(`DELETE FROM ${table} WHERE organization = $1`, organization)
}

/** Deletes what is kept of the list of the organization, and the windows of an interrupted run: its next run reads every record anew. */
export async function forgetReading(session: Session, organization: string): Promise<void> {
  await deleteRows(session, MEMORY_OF_LIST, organization)
  await forgetWindows(session, organization)
}

/** From here on, what the transaction changes in customers is not noted as an edit by hand. */
export async function changeUnnoticed(session: Session): Promise<void> {
  await session.run(`SET LOCAL customer_mirror.unnoticed = 'on'`)
}
