import type { Contents, Organizations, Renamed, Retired } from '../../../organizations.ts'
import type { Database, Session } from '../session.ts'
import { hasRows, listNames, changeUnnoticed, deleteRows, forgetReading } from './organization-rows.ts'
import {
  KNOWN_UNDER_A_FORGOTTEN_ONE,
  ORGANIZATION_TABLES,
  TAKING_TABLES,
  type OrganizationTable,
} from '../../sql/organization-tables.ts'
import { vacuum } from '../vacuum.ts'
import { forgetWindows } from '../run/windows.ts'
import { requireUnleased } from './unleased.ts'
import { nameTaken, retiredAlready } from '../../mirror-errors.ts'
import { updateStamp } from '../update-stamp.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { CLOSE_ABANDONED } from '../run/begin-run.ts'

/** The organizations of a mirror, as a whole. */
export function organizationsIn(database: Database): Organizations {
  return {
    list: () => database.read(listNames),
    rename: (names, { nowMs }) =>
      database.write(
        (session) => renameOrganization(session, names, nowMs),
        names,
        (session, renamed) => holds(session, names.to, renamed),
      ),
    retire: (organization, clocks) =>
      database.write(
        (session) => retireOrganization(session, organization, clocks.nowMs),
        clocks,
        (session) => hasRows(session, ['retired_organizations'], organization),
      ),
    contents: (organization) => database.read((session) => contentsOf(session, organization)),
    isUnfinished: (organization) => database.read((session) => hasRows(session, ['unfinished_forgets'], organization)),
    forget: (organization) => forgetOrganization(database, organization),
    close: () => database.close(),
  }
}

/** Whether all that was renamed has the new name, which nothing but reports of failed runs had before. */
async function holds(session: Session, organization: string, { customers, changes, runs }: Renamed): Promise<boolean> {
  const found = await contentsOf(session, organization)
  return found.customers >= customers && found.changes >= changes && found.runs >= runs
}

/** What the mirror holds of an organization. */
async function contentsOf(session: Session, organization: string): Promise<Contents> {
  const count = (table: keyof Contents) => `(SELECT count(*) FROM ${table} WHERE organization = $1) AS ${table}`
  const counts = (['customers', 'changes', 'runs', 'rejects', 'forgotten'] as const).map(count).join(', ')
  const contents = await session.first<Contents>(`SELECT ${counts}`, organization)
  return contents ?? { customers: 0, changes: 0, runs: 0, rejects: 0, forgotten: 0 }
}

/**
 * Deletes every row of an organization in one transaction, then has the server free what they leave. Returns false if a transaction that
 * began before still sees them, and throws MirrorUnusable if the server does not do it. Then, or if the process is killed before, the organization stays noted as not wholly forgotten, and the same call does the rest.
 */
async function forgetOrganization(database: Database, organization: string): Promise<boolean> {
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

/**
 * Writes the new name in every row of the organization. Its list as last read stays valid, and so do the windows of an interrupted
 * run, so its next run goes on as if nothing had happened. The caller holds the transaction.
 */
async function renameOrganization(
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

/**
 * Marks every active customer of the organization as removed, with a change each, put down to its last run, and notes since when
 * it is retired. Its next run ends that. The caller holds the transaction.
 */
async function retireOrganization(session: Session, organization: string, nowMs: number): Promise<Retired> {
  await requireUnleased(session, organization, 'retired')
  const now = sqlTime(nowMs)
  const find = 'SELECT retired_at FROM retired_organizations WHERE organization = $1'
  const before = await session.first<{ retired_at: string }>(find, organization)
  if (before !== undefined) throw retiredAlready(organization, before.retired_at)
  await session.run(
    'INSERT INTO retired_organizations (organization, retired_at) VALUES ($1, $2::timestamptz)',
    organization,
    now,
  )
  await session.run(CLOSE_ABANDONED, organization, now)
  await deleteRows(session, ['leases', 'held_removals', 'absences'], organization)
  await session.run(
    'UPDATE rejects SET resolved_at = $2::timestamptz WHERE organization = $1 AND resolved_at IS NULL',
    organization,
    now,
  )
  await changeUnnoticed(session)
  const removed = await removeAll(session, { organization, now, stamp: await updateStamp(session, nowMs) })
  // Row numbers there refer to customers that are no longer expected in the list.
  await forgetReading(session, organization)
  return { removed }
}

/** Returns the number of customers that were active. */
async function removeAll(
  session: Session,
  { organization, now, stamp }: { organization: string; now: string; stamp: string },
): Promise<number> {
  const last = '(SELECT max(id) FROM runs WHERE organization = $1)'
  await session.run(
    `INSERT INTO changes (run_id, organization, id, change, at, missing_since)
     SELECT ${last}, organization, id, 'removed', $2::timestamptz, missing_since FROM customers
     WHERE organization = $1 AND removed_at IS NULL ORDER BY row_id`,
    organization,
    now,
  )
  return session.run(
    `UPDATE customers SET removed_at = $2::timestamptz, last_run_id = ${last}, updated_at = $3::timestamptz
     WHERE organization = $1 AND removed_at IS NULL`,
    organization,
    now,
    stamp,
  )
}
