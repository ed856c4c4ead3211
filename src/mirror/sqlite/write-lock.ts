import Database from 'better-sqlite3'
import { BUSY_TIMEOUT_MS, type Connection } from './database.ts'

/**
 * The error of a transaction that has waited in vain for the one of another program; undefined where a transaction would not wait now. To
 * find out takes some microseconds, and waits for nothing.
 */
export function findLock(db: Connection): Error | undefined {
  db.pragma('busy_timeout = 0')
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
