import Database from 'better-sqlite3'
import { setTimeout as sleep } from 'node:timers/promises'
import { BUSY_TIMEOUT_MS } from './connect.ts'
import { openDatabase, type Connection } from './database.ts'
import { sqliteError } from './file-errors.ts'

/**
 * The error of a transaction that has waited in vain for the one of another program, for `patienceMs`; undefined where a transaction would
 * not wait now, which takes some microseconds to find out.
 */
export function findLock(db: Connection, file: string, patienceMs: number): unknown {
  db.pragma(`busy_timeout = ${patienceMs}`)
  try {
    db.exec('BEGIN IMMEDIATE')
    db.exec('ROLLBACK')
    return undefined
  } catch (error) {
    return isBusy(error) ? sqliteError(error, file) : undefined
  } finally {
    db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/** For how long an attempt to open the mirror may block the event loop, and the pause before the next one. */
const ATTEMPT_MS = 50
const PAUSE_MS = 100

/**
 * Opens the mirror at `file` to write, as `openDatabase` does, and waits as long for the transaction of another program, but without blocking
 * the event loop; or until `signal` is aborted.
 */
export async function openPatiently(file: string, signal: AbortSignal | undefined): Promise<Connection> {
  for (let waitedMs = 0; ; waitedMs += ATTEMPT_MS + PAUSE_MS) {
    try {
      const db = openDatabase(file, 'write', ATTEMPT_MS)
      db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
      return db
    } catch (error) {
      if (waitedMs >= BUSY_TIMEOUT_MS || signal?.aborted === true) throw error
      if (!(error instanceof Error && isBusy(error.cause))) throw error
    }
    await sleep(PAUSE_MS)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
