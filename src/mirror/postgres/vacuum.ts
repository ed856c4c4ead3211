import { setTimeout as wait } from 'node:timers/promises'
import { MirrorUnusable } from '../../errors.ts'
import { quoted } from './quoted.ts'
import type { Database, Session } from './session.ts'

/** A transaction that still sees deleted rows is not waited for longer than this. Nothing waits meanwhile but the caller. */
const PATIENCE_MS = 5000
const ASK_AGAIN_MS = 50

/**
 * Has the server free what deleted and replaced rows leave in these tables, and in the samples of values that it keeps to plan queries (a
 * table without rows keeps its samples): no statement finds it from then on. False if a transaction
 * that began before still sees them, or the server did not do it; nothing is lost, and it can be tried again. What the server
 * wrote elsewhere stays: its WAL, replicas, backups, and bytes in free space of its files until it uses them again.
 */
export async function vacuum(
  database: Database,
  tables: readonly string[],
  { patienceMs = PATIENCE_MS } = {},
): Promise<boolean> {
  try {
    if (!(await isSeenByNobody(database, patienceMs))) return false
    const names = tables.map((table) => `${quoted(database.schema)}.${table}`)
    await database.maintain(`VACUUM (ANALYZE) ${names.join(', ')}`)
    return true
  } catch (error) {
    if (error instanceof MirrorUnusable) return false
    throw error
  }
}

/** Whether the transactions end that may still see what was deleted before now. */
async function isSeenByNobody(database: Database, patienceMs: number): Promise<boolean> {
  const now = await database.read((session) => session.first<{ xid: string }>(NEXT))
  for (let waitedMs = 0; ; waitedMs += ASK_AGAIN_MS) {
    const older = await database.read((session) => findOlder(session, now?.xid ?? '0'))
    if (older === undefined) return true
    if (waitedMs >= patienceMs) return false
    await wait(ASK_AGAIN_MS)
  }
}

/** Every transaction so far has a lower number. */
const NEXT = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid'

/** PostgreSQL shows those of other users only to members of pg_read_all_stats. */
function findOlder(session: Session, xid: string): Promise<{ pid: number } | undefined> {
  return session.first<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
       AND greatest(age(backend_xid), age(backend_xmin)) > age($1::text::xid8::xid) LIMIT 1`,
    xid,
  )
}
