import { globSync, lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type Database from 'better-sqlite3'
import { mirrorFault, seenIn } from '../errors/faults.ts'
import { copyRows } from '../store/move-mirror.ts'
import { sql } from '../store/port/sql.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import type { Session } from '../store/port/store.ts'
import { openDatabase as openServer } from '../store/postgres/open-database.ts'
import { openDatabase } from '../store/sqlite/open-database.ts'
import { writeWithoutWaiting } from './open-to-read.ts'
import { GIVEN_BY_SERVER } from './selection.ts'
import { lockPlace } from './written-file.ts'

/** What readers see, and nothing of what a run or a forgotten customer needs. */
const READ_TABLES = [
  ...['last_update', 'runs', 'customers', 'changes', 'rejects', 'held_rows'],
  ...['retired_organizations', 'horizons'],
]

/** A temporary copy of a mirror in PostgreSQL, which this process alone reads. */
export type PrivateCopy = { file: string; remove: () => void }

/**
 * Copies what readers see, one state of it, from a mirror in PostgreSQL into a file of SQLite, 0600 in a folder of 0700 among the temporary
 * files. Copies of processes that were killed are removed. Throws MirrorUnusable.
 */
export async function makePrivateCopy(address: string, signal?: AbortSignal): Promise<PrivateCopy> {
  const copy = privatePlace()
  const server = await openServer(address, 'read').catch((error: unknown) => {
    copy.remove()
    throw error
  })
  try {
    const db = openDatabase(copy.file, 'write')
    try {
      writeWithoutWaiting(db)
      db.exec('BEGIN')
      await server.read(async (session) => {
        // The server may end a statement, on a standby above all; then all of it is read again.
        db.exec('ROLLBACK; BEGIN')
        await copyRows({ from: session, to: sqliteSession(db), tables: READ_TABLES, signal })
        await noteNumbers(session, db)
      })
      db.exec('COMMIT')
      db.exec('ANALYZE')
    } finally {
      db.close()
    }
    return copy
  } catch (error) {
    copy.remove()
    throw fileError(error, tmpdir())
  } finally {
    await server.close()
  }
}

/** What the folders of private copies are called. */
const NAME = 'customer-mirror-copy-'

/** A place in a private folder of its own, 0700, and the lock of it. Throws MirrorUnusable where nothing can be made there. */
export function privatePlace(): PrivateCopy {
  const parent = tmpdir()
  // What cannot be removed is being read, and nothing that is made here depends on it. A folder without a file is being made.
  for (const name of globSync(`${NAME}*/customers.db`, { cwd: parent }))
    try {
      const [file, folder] = [join(parent, name), dirname(join(parent, name))]
      const found = lstatSync(folder)
      if (!found.isDirectory() || found.uid !== process.geteuid?.()) continue
      const lock = lockPlace(file, { waitMs: 0 })
      rmSync(folder, { recursive: true, force: true })
      lock.release()
    } catch {}
  try {
    const folder = mkdtempSync(join(parent, NAME))
    const file = join(folder, 'customers.db')
    const lock = lockPlace(file)
    const remove = () => {
      rmSync(folder, { recursive: true, force: true })
      lock.release()
    }
    return { file, remove }
  } catch (error) {
    const seen = seenIn(error)
    throw seen === undefined ? error : mirrorFault(`${parent} (TMPDIR)`, seen, { cause: error })
  }
}

/**
 * Notes what this user may know of numbers: which was forgotten last in each organization, without any hash, so that objects from before are
 * written anew; and which seq was given last, also to a change that was deleted with its organization, or that is not committed yet. A standby
 * may not have the changes yet that a reader knows from its primary server, although it has their numbers.
 */
async function noteNumbers(session: Session, db: Database.Database): Promise<void> {
  const [asked] = await session.all<{ mayRead: boolean | null; seq: number | null }>(sql`
    SELECT has_table_privilege(to_regclass('forgotten'), 'SELECT') AS "mayRead",
      CASE WHEN has_sequence_privilege(name, 'SELECT') AND NOT pg_is_in_recovery()
        THEN pg_sequence_last_value(name::regclass) END AS seq
    FROM pg_get_serial_sequence('changes', 'seq') AS name`)
  if (typeof asked?.seq === 'number')
    db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(GIVEN_BY_SERVER, asked.seq)
  if (asked?.mayRead !== true) return
  const insert = db.prepare(`INSERT INTO forgotten (number, organization, hash, forgotten_at) VALUES (?, ?, '', '')`)
  const last = sql`SELECT organization, MAX(number) AS number FROM forgotten GROUP BY organization`
  for (const { number, organization } of await session.all<{ organization: string; number: number }>(last))
    insert.run(number, organization)
}
