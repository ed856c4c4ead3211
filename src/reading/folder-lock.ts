import Database from 'better-sqlite3'
import { closeSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CopyFailed } from '../errors.ts'

/**
 * Takes the lock of the folder of a copy, so that two processes do not publish there at once. The system releases it when the
 * process ends, however that happens. Throws CopyFailed when another process has it for longer than `waitMs`.
 */
export function lockFolder(file: string, waitMs: number): { release: () => void } {
  const path = join(dirname(file), LOCK)
  closeSync(openSync(path, 'a', 0o600))
  const db = new Database(path, { timeout: waitMs })
  try {
    // No journal: nothing is ever written into this file.
    db.pragma('journal_mode = MEMORY')
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))
      throw new CopyFailed(
        `${dirname(file)}: another process publishes there at the moment. Nothing was changed; publish again when it is done.`,
        { code: 'copy-busy' },
        { cause: error },
      )
    throw error
  }
  return { release: () => void db.close() }
}

const LOCK = '.publish.lock'
