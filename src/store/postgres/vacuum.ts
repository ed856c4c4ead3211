import { setTimeout as wait } from 'node:timers/promises'
import { MirrorUnusable } from '../../errors/errors.ts'
import type { Database, ServerSession } from '../port/postgres-connections.ts'
import { quoted, sql, text } from '../port/sql.ts'

/** A transaction that still sees deleted rows is not waited for longer than this. Nothing waits meanwhile but the caller. */
const PATIENCE_MS = 5000
const ASK_AGAIN_MS = 50

/**
 * Has the server free what deleted and replaced rows leave in these tables, and in the samples of values that it keeps to plan queries: no
 * statement finds it from then on. False if a transaction that began before still sees them. Throws MirrorUnusable if the server does
 * not do it. In both cases nothing is lost, and it can be tried again. What the server wrote elsewhere stays: its WAL, replicas,
 * backups, and bytes in free space of its files until it uses them again.
 */
export async function vacuum(database: Database, tables: readonly string[]): Promise<boolean> {
  try {
    await requireOwned(database, tables)
    if (!(await haveOlderEnded(database))) return false
    const names = tables.map((table) => `${quoted(database.schema)}.${table}`)
    await database.maintain(`VACUUM (ANALYZE) ${names.join(', ')}`)
    await database.write(emptySamples)
    return true
  } catch (error) {
    const but = `${database.place}: the rows are deleted, but the server has not freed what they held: `
    if (error instanceof MirrorUnusable) error.message = error.message.replace(`${database.place}: `, but)
    throw error
  }
}

/** Throws MirrorUnusable where the server would only warn, and skip a table. */
async function requireOwned(database: Database, tables: readonly string[]) {
  // Partitions may have another owner than their table.
  const find = sql`
    WITH named AS (SELECT to_regclass(name) AS oid FROM unnest(${tables}::text[]) AS name)
    SELECT pg_get_userbyid(relowner) AS owner FROM pg_class
    WHERE oid IN (SELECT oid FROM named UNION SELECT inhrelid FROM pg_inherits JOIN named ON named.oid = inhparent)
      AND NOT ${text(mayVacuum('pg_class'))} LIMIT 1`
  const unowned = await database.read((session) => session.first<{ owner: string }>(find))
  if (unowned === undefined) return
  const { owner } = unowned
  const { place, schema } = database
  throw new MirrorUnusable(
    `${place}: it does that for the owner of the tables alone, who is ${owner}. Run the same command with the user ${owner} in the ` +
      `address, or have ${owner} run: VACUUM (ANALYZE) ${tables.map((table) => `${schema}.${table}`).join(', ')}`,
    { code: 'denied' },
  )
}

async function haveOlderEnded(database: Database): Promise<boolean> {
  // Every transaction that has ended, and so the one that deleted the rows, has a lower number.
  const next = sql`SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid`
  const now = await database.read((session) => session.first<{ xid: string }>(next))
  for (let waitedMs = 0; ; waitedMs += ASK_AGAIN_MS) {
    const older = await database.read((session) => findOlder(session, now?.xid ?? '0'))
    if (older === undefined) return true
    if (waitedMs >= PATIENCE_MS) return false
    await wait(ASK_AGAIN_MS)
  }
}

/**
 * What keeps deleted rows from being freed: transactions, queries on a standby that sends feedback (its sender is of no database), and
 * transactions that were prepared. A worker of autovacuum, which is of no user, keeps none. That it is one, as backend_type says, the
 * server shows of other users only to members of pg_read_all_stats; the rest of these rows it shows to everyone.
 */
function findOlder(session: ServerSession, xid: string): Promise<{ xid: string } | undefined> {
  return session.first<{ xid: string }>(sql`
     SELECT xid::text FROM (
       SELECT unnest(ARRAY[backend_xid, backend_xmin]) FROM pg_stat_activity
       WHERE (datname IS NULL OR datname = current_database()) AND pid <> pg_backend_pid() AND usename IS NOT NULL
       UNION ALL SELECT xmin FROM pg_replication_slots
       UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
     ) AS held (xid)
     WHERE age(xid) > age(${xid}::text::xid8::xid) LIMIT 1`)
}

/** A row without a customer, for each table with values of customers. */
const ROWS = {
  customers: `(row_id, organization, id, first_seen_at, changed_at, last_run_id, updated_at)
    SELECT 0, '', '', 'epoch', 'epoch', 0, 'epoch'`,
  changes: `(seq, run_id, organization, id, change, changed_at) SELECT 0, 0, '', '', 'added', 'epoch'`,
  rejects: `(reject_id, run_id, organization, record_key, page, position, payload, reasons, first_seen_at, seen_at)
    SELECT 0, 0, '', '', 0, 0, '', '[]', 'epoch', 'epoch'`,
  runs: `(id, organization, trigger, started_at, status, read_as_of) SELECT 0, '', '', 'epoch', 'failed', 'epoch'`,
}

/** PostgreSQL keeps the samples of a table that has no rows any more, so it takes one of a row that no other transaction ever sees. */
async function emptySamples(session: ServerSession) {
  await session.run(sql`SET LOCAL customer_mirror.unnoticed = 'on'`)
  for (const [table, row] of Object.entries(ROWS)) {
    const isEmpty = await session.run(text(`INSERT INTO ${table} ${row} WHERE NOT EXISTS (SELECT FROM ${table})`))
    if (isEmpty === 0) continue
    await session.run(text(`ANALYZE ${table}`))
    await session.run(text(`DELETE FROM ${table} WHERE organization = ''`))
  }
}

/** Whether this user may VACUUM the table in a row of pg_class with this alias; otherwise the server only warns, and skips it. */
export function mayVacuum(table: string): string {
  return `(EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND pg_has_role(datdba, 'USAGE'))
    OR CASE WHEN current_setting('server_version_num')::int >= 170000 THEN has_table_privilege(${table}.oid, 'MAINTAIN')
      ELSE pg_has_role(${table}.relowner, 'USAGE') END)`
}
