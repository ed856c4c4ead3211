import Database from 'better-sqlite3'
import { closeSync, constants, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { connect } from '../mirror/sqlite/connect.ts'
import { CopyFailed } from '../errors/errors.ts'

/**
 * Takes the lock of the folder of a copy, so that two processes do not publish there at once. Throws CopyFailed when another
 * process has it for longer than `waitMs`.
 */
export function lockFolder(file: string, waitMs: number): { release: () => void } {
  return lock(join(dirname(file), '.publish.lock'), waitMs, (cause) => {
    const message = `${dirname(file)}: another process publishes there at the moment. Nothing was changed; publish again when it is done.`
    return new CopyFailed(message, { code: 'copy-busy' }, { cause })
  })
}

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
