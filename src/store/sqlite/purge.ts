import Database from 'better-sqlite3'
import { type Connection, withSetting } from './connect.ts'

/** A program that reads the file is not waited for longer than this. */
const PATIENCE_MS = 1000

/**
 * Removes from the file and its WAL what is no longer in any table: values that were replaced before `deletingSecurely` was used stand
 * in free space too, so the whole file is written anew. False if another program keeps the file busy or there is no room; the file
 * is as good as before then, and it can be tried again.
 */
export function purge(db: Connection): boolean {
  return unlessBusy(db, PATIENCE_MS, () => {
    forgetSamples(db)
    // The whole file is written anew, which would not fit into memory.
    withSetting(db, { during: 'temp_store = DEFAULT', after: 'temp_store = MEMORY' }, () => db.exec('VACUUM'))
    return isWalEmptied(db)
  })
}

/** Empties the WAL, which holds earlier versions of deleted rows; false if another program keeps the file busy: try again. */
export function emptyWal(db: Connection, { patienceMs = PATIENCE_MS } = {}): boolean {
  return unlessBusy(db, patienceMs, () => isWalEmptied(db))
}

function isWalEmptied(db: Connection): boolean {
  return Number(db.pragma('wal_checkpoint(TRUNCATE)', { simple: true })) === 0
}

function unlessBusy(db: Connection, patienceMs: number, work: () => boolean): boolean {
  const before = Number(db.pragma('busy_timeout', { simple: true }))
  const patience = { during: `busy_timeout = ${patienceMs}`, after: `busy_timeout = ${before}` }
  try {
    return withSetting(db, patience, work)
  } catch (error) {
    if (error instanceof Database.SqliteError) return false
    throw error
  }
}

/** ANALYZE, which a reader may have run, keeps samples of indexed values. */
function forgetSamples(db: Connection): void {
  const tables = db.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE name = 'sqlite_stat4'`).pluck().all()
  for (const table of tables) db.exec(`DELETE FROM ${table}`)
}
