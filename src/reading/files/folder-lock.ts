import Database from 'better-sqlite3'
import { closeSync, constants, openSync } from 'node:fs'
import { connect } from '../../store/sqlite/connect.ts'

/**
 * Takes the lock at `path`. The system releases it when the process ends, however that happens. Throws what `busy` returns when
 * another process has it for longer than `waitMs`.
 */
export function lock(path: string, waitMs: number, busy: (cause: Error) => Error): { release: () => void } {
  closeSync(openSync(path, TO_LOCK, 0o600))
  const db = connect(path, { timeout: waitMs })
  try {
    // No journal: nothing is ever written into this file.
    db.pragma('journal_mode = MEMORY')
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) throw busy(error)
    throw error
  }
  return { release: () => void db.close() }
}

/** Made where it is missing; no link is followed, and no reader of a pipe is waited for. */
const TO_LOCK =
  constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK
