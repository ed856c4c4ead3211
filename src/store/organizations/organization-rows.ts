import { sql, text } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { forgetWindows } from '../runs/windows.ts'

/** Every table of the mirror with a column `organization`. A test compares them with the schema. */
export const ORGANIZATION_TABLES = [
  'customers',
  'changes',
  'runs',
  'rejects',
  'absences',
  'held_removals',
  'lists',
  'list_chunks',
  'list_windows',
  'edited_customers',
  'leases',
  'privacy_policies',
  'retired_organizations',
  'unfinished_forgets',
  'horizons',
  'pruned_runs',
  'forgotten',
  'forgotten_keys',
] as const
export type OrganizationTable = (typeof ORGANIZATION_TABLES)[number]

/** What is kept from run to run to recognize a list. Without it, the next run reads every record. */
export const MEMORY_OF_LIST = ['lists', 'list_chunks', 'list_windows', 'edited_customers'] as const

/** The error, after the name, of a run that was refused because its customers were known under an organization that was forgotten. */
export const KNOWN_UNDER_A_FORGOTTEN_ONE =
  'its customers were known under another organization, which was forgotten since.'

/** Tables of which one row means that an organization is in the mirror. A run that failed before it saved anything does not. */
export const TAKING_TABLES = ['customers', 'changes', 'rejects', 'forgotten', 'unfinished_forgets'] as const

/** Whether one of the tables has a row of the organization. */
export async function hasRows(
  session: Session,
  tables: readonly OrganizationTable[],
  organization: string,
): Promise<boolean> {
  for (const table of tables)
    if (
      (await session.first(sql`SELECT 1 FROM ${text(table)} WHERE organization = ${organization} LIMIT 1`)) !==
      undefined
    )
      return true
  return false
}

/** Deletes the organization's rows from these tables. */
export async function deleteRows(
  session: Session,
  tables: readonly OrganizationTable[],
  organization: string,
): Promise<void> {
  for (const table of tables) await session.run(sql`DELETE FROM ${text(table)} WHERE organization = ${organization}`)
}

/** Deletes what is kept of the list of the organization, and the windows of an interrupted run: its next run reads every record anew. */
export async function forgetReading(session: Session, organization: string): Promise<void> {
  await deleteRows(session, MEMORY_OF_LIST, organization)
  await forgetWindows(session, organization)
}
