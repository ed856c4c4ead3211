import Database from 'better-sqlite3'
import { BUSY_TIMEOUT_MS, type Connection } from './database.ts'

/**
 * The error of a transaction that has waited in vain for the one of another program, for `patienceMs`; undefined where a transaction would
 * not wait now, which takes some microseconds to find out.
 */
export function findLock(db: Connection, patienceMs: number): Error | undefined {
  db.pragma(`busy_timeout = ${patienceMs}`)
  try {
    db.exec('BEGIN IMMEDIATE')
    db.exec('ROLLBACK')
    return undefined
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return error
    return undefined
  } finally {
    db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}
