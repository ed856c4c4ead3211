import Database from 'better-sqlite3'
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mirrorFault, seenIn } from '../errors/faults.ts'
import { isGone, nameOfProcess } from '../machine/process-name.ts'
import { connect } from '../store/sqlite/connect.ts'
import { copyRows } from '../store/move-mirror.ts'
import { postgresSession } from '../store/port/postgres-store.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import { openDatabase as openServer } from '../store/postgres/open-database.ts'
import type { Session } from '../store/port/postgres-session.ts'
import { openDatabase } from '../store/sqlite/open-database.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { GIVEN_BY_SERVER } from './export/feed.ts'
import { writeWithoutWaiting } from './unfinished-database.ts'

/** What readers see, and nothing of what a run or a forgotten customer needs. */
const READ_TABLES = [
  ...['last_update', 'runs', 'customers', 'changes', 'rejects', 'held_removals'],
  ...['retired_organizations', 'horizons'],
]

/** A temporary copy of a mirror in PostgreSQL, which this process alone reads. */
export type PrivateCopy = { file: string; remove(): void }

/**
 * Copies what readers see, one state of it, from a mirror in PostgreSQL into a file of SQLite, 0600 in a folder of 0700 among the temporary
 * files. Copies of processes that were killed are removed. Throws MirrorUnusable.
 */
export async function makePrivateCopy(address: string): Promise<PrivateCopy> {
  try {
    const folder = makeTemporaryFolder()
    const remove = () => rmSync(folder, { recursive: true, force: true })
    try {
      const file = join(folder, 'customers.db')
      await fill(file, address)
      return { file, remove }
    } catch (error) {
      remove()
      throw error
    }
  } catch (error) {
    throw fileError(error, tmpdir())
  }
}

async function fill(file: string, address: string): Promise<void> {
  const server = await openServer(address, 'read')
  try {
    openDatabase(file, 'write').close()
    const db = connect(file, { fileMustExist: true })
    try {
      writeWithoutWaiting(db)
      db.exec('BEGIN')
      await server.read(async (session) => {
        // The server may end a statement, on a standby above all; then all of it is read again.
        db.exec('ROLLBACK; BEGIN')
        await copyRows({ from: postgresSession(session), to: sqliteSession(db), tables: READ_TABLES })
        await noteForgotten(session, db)
        await noteGiven(session, db)
      })
      db.exec('COMMIT')
      db.exec('ANALYZE')
    } finally {
      db.close()
    }
  } finally {
    await server.close()
  }
}

/** Which number was forgotten last in each organization, without any hash: objects in a bucket from before are written anew. */
async function noteForgotten(session: Session, db: Database.Database): Promise<void> {
  const mayRead = `SELECT has_table_privilege(to_regclass('forgotten'), 'SELECT') AS "mayRead"`
  const [asked] = await session.all<{ mayRead: boolean | null }>(mayRead)
  if (asked?.mayRead !== true) return
  const last = await session.all<{ organization: string; number: number }>(
    'SELECT organization, MAX(number) AS number FROM forgotten GROUP BY organization',
  )
  const insert = db.prepare(`INSERT INTO forgotten (number, organization, hash, forgotten_at) VALUES (?, ?, '', '')`)
  for (const { number, organization } of last) insert.run(number, organization)
}

/**
 * Which seq was given last, where this user may know it: of a change that was deleted with its organization, or that is not committed yet. A
 * standby may not have the changes yet that a reader knows from its primary server, although it has their numbers.
 */
async function noteGiven(session: Session, db: Database.Database): Promise<void> {
  const [given] = await session.all<{ seq: number | null }>(
    `SELECT CASE WHEN has_sequence_privilege(name, 'SELECT') AND NOT pg_is_in_recovery()
       THEN pg_sequence_last_value(name::regclass) END AS seq
     FROM pg_get_serial_sequence('changes', 'seq') AS name`,
  )
  if (given === undefined || given.seq === null) return
  db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(GIVEN_BY_SERVER, given.seq)
}

/** What the folders of private copies are called, and the file in each that names the process of it. */
const NAME = 'customer-mirror-copy-'
const OWNER = 'owner'

/**
 * Makes a private folder of its own, 0700, among the temporary files, in which a mirror is copied to be read. Those of processes that were
 * killed are removed. Throws MirrorUnusable where nothing can be made there.
 */
export function makeTemporaryFolder(): string {
  const parent = tmpdir()
  try {
    removeAbandoned(parent)
    return withOwner(mkdtempSync(join(parent, NAME)))
  } catch (error) {
    const seen = seenIn(error)
    throw seen === undefined ? error : mirrorFault(`${parent} (TMPDIR)`, seen, { cause: error })
  }
}

function withOwner(folder: string): string {
  try {
    writeFileSync(join(folder, OWNER), nameOfProcess(), { mode: 0o600 })
    return folder
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** Removes the folders of this user's processes that are gone, as far as it can: the next one tries again. */
function removeAbandoned(parent: string): void {
  try {
    for (const name of readdirSync(parent)) if (name.startsWith(NAME)) removeIfAbandoned(join(parent, name))
  } catch {
    // Nothing that is made here depends on it.
  }
}

function removeIfAbandoned(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found?.isDirectory() !== true || found.uid !== process.geteuid?.()) return
  if (isAbandoned(join(folder, OWNER))) rmSync(folder, { recursive: true, force: true })
}

/** One without a name is being made, or was killed in the moment between: it is empty, and stays. */
function isAbandoned(owner: string): boolean {
  return lstatSync(owner, { throwIfNoEntry: false })?.isFile() === true && isGone(readFileSync(owner, 'utf8')) === true
}
