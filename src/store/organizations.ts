import { UsageError } from '../errors/errors.ts'
import { joined, moment, NOTICED, place, sql, sqlTime, text, UNNOTICED } from './port/sql.ts'
import { countOf, type Session, type Store } from './port/store.ts'
import { type Clocks, requireUnleased, updateStamp } from './runs/lease.ts'
import { deleteRows, forgetReading, forgetWindows } from './runs/list-memory.ts'
import { closeAbandoned } from './runs/start-run.ts'
import { COLUMNS } from './schema/schema.ts'

/**
 * The organizations of a mirror, as a whole. Each verb is one transaction, which readers see all of or nothing. All of them throw
 * OrganizationLeased while a run has the organization, UsageError where it cannot be done, and MirrorUnusable when the file fails.
 */
export type Organizations = ReturnType<typeof organizationsIn>

export function organizationsIn(store: Store) {
  return {
    /** The names of those of which the mirror holds anything, or bytes of deleted rows may be left in the file, in order. */
    list: () => store.read(listNames),
    rename: (names: Names, clocks: Clocks) =>
      store.write((session) => renameOrganization(session, names, clocks), { durably: true }, names),
    retire: (organization: string, clocks: Clocks) =>
      store.write((session) => retireOrganization(session, organization, clocks), { durably: true }, clocks),
    contents: (organization: string) => store.read((session) => contentsOf(session, organization)),
    forget: (organization: string, clocks: Clocks) => forgetOrganization(store, organization, clocks),
  }
}

/** The name of now, and another that no other organization may have. */
type Names = { from: string; to: string }

async function listNames(session: Session): Promise<string[]> {
  const rows = await session.all<{ organization: string }>(sql`
    SELECT organization FROM runs UNION SELECT organization FROM customers UNION SELECT organization FROM forgotten_keys
    UNION SELECT organization FROM unfinished_forgets ORDER BY 1`)
  return rows.map(({ organization }) => organization)
}

/** Numbers of rows; `forgotten` customers are those of which only a hash is left. */
async function contentsOf(session: Session, organization: string) {
  const contents = { customers: 0, changes: 0, runs: 0, rejects: 0, forgotten: 0 }
  for (const table of ['customers', 'changes', 'runs', 'rejects', 'forgotten'] as const) {
    const rows = sql`SELECT count(*) FROM ${text(table)} WHERE organization = ${organization}`
    contents[table] = await countOf(session, rows)
  }
  return contents
}

/** Writes the new name in every row of the organization: its next run goes on as if nothing had happened. */
async function renameOrganization(session: Session, { from, to }: Names, clocks: Clocks) {
  // In one order, so that two of these do not wait for each other.
  for (const name of [from, to].toSorted()) await requireUnleased(session, name, 'renamed', clocks)
  if (await isTaken(session, to))
    throw new UsageError(
      `${to}: is in the mirror already, and two organizations cannot become one. Nothing was changed. Choose another name, or ` +
        `let the mirror forget ${to} first: 'customer-mirror organizations forget ${to}'.`,
    )
  await forgetWindows(session, to)
  const others = ORGANIZATION_TABLES.filter((table) => table !== 'runs')
  await deleteRows(session, others, to)
  const renamed: Partial<Record<string, number>> = {}
  const stamp = sql`, updated_at = ${await updateStamp(session, clocks.nowMs)}`
  await session.run(sql`${UNNOTICED}`)
  for (const table of ORGANIZATION_TABLES)
    renamed[table] = await session.run(sql`
      UPDATE ${text(table)} SET organization = ${to} ${table === 'customers' ? stamp : sql``} WHERE organization = ${from}`)
  await session.run(sql`${NOTICED}`)
  const { customers = 0, changes = 0, runs = 0 } = renamed
  return { customers, changes, runs }
}

/** Removes every active customer of the organization, with a change each, put down to its last run. Its next run ends that. */
async function retireOrganization(session: Session, organization: string, clocks: Clocks) {
  await requireUnleased(session, organization, 'retired', clocks)
  const now = sqlTime(clocks.nowMs)
  const before = await session.first<{ retired_at: string }>(sql`
    SELECT retired_at FROM retired_organizations WHERE organization = ${organization}`)
  if (before !== undefined) {
    const since = before.retired_at.slice(0, 16)
    throw new UsageError(`${organization}: is retired already, since ${since} UTC. Nothing was changed.`)
  }
  await session.run(sql`INSERT INTO retired_organizations (organization, retired_at) VALUES (${organization}, ${now})`)
  await closeAbandoned(session, organization, clocks.nowMs)
  await deleteRows(session, ['held_rows', 'absences'], organization)
  await session.run(
    sql`UPDATE rejects SET resolved_at = ${now} WHERE organization = ${organization} AND resolved_at IS NULL`,
  )
  const stamp = await updateStamp(session, clocks.nowMs)
  const last = sql`(SELECT max(id) FROM runs WHERE organization = ${organization})`
  const active = sql`WHERE organization = ${organization} AND removed_at IS NULL`
  await session.run(sql`
    INSERT INTO changes (run_id, organization, id, change, changed_at, missing_since)
    SELECT ${last}, organization, id, 'removed', ${moment(now)}, missing_since FROM customers ${active} ORDER BY row_id`)
  await session.run(sql`${UNNOTICED}`)
  const removed = await session.run(
    sql`UPDATE customers SET removed_at = ${now}, last_run_id = ${last}, updated_at = ${stamp} ${active}`,
  )
  await session.run(sql`${NOTICED}`)
  // Row numbers there refer to customers that are no longer expected in the list.
  await forgetReading(session, organization)
  return { removed }
}

/**
 * Deletes every row of an organization in one transaction, then has the bytes that they leave overwritten or freed; whether that was possible.
 * If not, or if the process is killed before, the organization stays noted as not wholly forgotten, and the same call does the rest.
 */
async function forgetOrganization(store: Store, organization: string, clocks: Clocks): Promise<boolean> {
  const deleteAll = async (session: Session) => {
    await requireUnleased(session, organization, 'forgotten', clocks)
    await forgetWindows(session, organization)
    await session.run(sql`${UNNOTICED}`)
    await deleteRows(session, ORGANIZATION_TABLES, organization)
    await session.run(sql`${NOTICED}`)
    // A run that was refused because its customers were known under this organization named it.
    await session.run(sql`
      UPDATE runs SET error = organization || ': its customers were known under another organization, which was forgotten since.'
      WHERE error_code = 'tenant-mixup' AND ${place('error', ` under ${organization}. `)} > 0`)
    await session.run(sql`INSERT INTO unfinished_forgets (organization) VALUES (${organization})`)
  }
  await store.write(deleteAll, { securely: true })
  if (!(await store.purge(ORGANIZATION_TABLES))) return false
  await store.write((session) => deleteRows(session, ['unfinished_forgets'], organization), { securely: true })
  await store.settle()
  return true
}

export const ORGANIZATION_TABLES = Object.keys(COLUMNS).filter((table) => COLUMNS[table]?.includes('organization'))

/** Whether the mirror holds anything of an organization but the report of a run that failed before it saved anything: that keeps its place. */
async function isTaken(session: Session, organization: string): Promise<boolean> {
  const own = sql`organization = ${organization}`
  const tables = ['customers', 'changes', 'rejects', 'forgotten', 'unfinished_forgets']
  const rows = tables.map((table) => sql`UNION ALL SELECT 1 FROM ${text(table)} WHERE ${own}`)
  const found = sql`SELECT 1 FROM runs WHERE ${own} AND status = 'complete' ${joined(rows, ' ')} LIMIT 1`
  return (await session.first(found)) !== undefined
}
