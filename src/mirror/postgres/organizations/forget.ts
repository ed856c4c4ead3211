import { KNOWN_UNDER_A_FORGOTTEN_ONE, ORGANIZATION_TABLES } from '../../sql/organization-tables.ts'
import type { Database, Session } from '../session.ts'
import { vacuum } from '../vacuum.ts'
import { forgetWindows } from '../run/windows.ts'
import { changeUnnoticed, deleteRows, hasRows } from './organization-rows.ts'
import { requireUnleased } from './unleased.ts'

/**
 * Deletes every row of an organization in one transaction, then has the server free what they leave. Returns false if a transaction that
 * began before still sees them, and throws MirrorUnusable if the server does not do it. Then, or if the process is killed before, the organization stays noted as not wholly forgotten, and the same call does the rest.
 */
export async function forgetOrganization(database: Database, organization: string): Promise<boolean> {
  await database.write(
    (session) => deleteAll(session, organization),
    undefined,
    async (session) =>
      (await hasRows(session, ['unfinished_forgets'], organization)) &&
      !(await hasRows(session, HOLDING, organization)),
  )
  if (!(await vacuum(database, ORGANIZATION_TABLES))) return false
  await database.write((session) => deleteRows(session, ['unfinished_forgets'], organization))
  return true
}

const HOLDING = ORGANIZATION_TABLES.filter((table) => table !== 'unfinished_forgets')

async function deleteAll(session: Session, organization: string): Promise<void> {
  await requireUnleased(session, organization, 'forgotten')
  await forgetWindows(session, organization)
  await changeUnnoticed(session)
  await deleteRows(session, ORGANIZATION_TABLES, organization)
  await hideNameInErrors(session, organization)
  await session.run('INSERT INTO unfinished_forgets (organization) VALUES ($1)', organization)
}

/** A run that was refused because its customers were known under this organization named it. */
async function hideNameInErrors(session: Session, organization: string): Promise<void> {
  await session.run(
    `UPDATE runs SET error = organization || ': ${KNOWN_UNDER_A_FORGOTTEN_ONE}'
     WHERE error_code = 'tenant-mixup' AND strpos(error, ' under ' || $1::text || '. ') > 0`,
    organization,
  )
}
