import { randomUUID } from 'node:crypto'
import { lstatSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemCode } from '../errors/faults.ts'
import { closing } from '../store/mirror.ts'
import { copyRows, noteNumbers } from '../store/move-mirror.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import { openDatabase as openServer } from '../store/postgres/open-database.ts'
import { openDatabase } from '../store/sqlite/open-database.ts'
import { writeWithoutWaiting } from '../store/sqlite/open-to-read.ts'
import { beginFile, type Unfinished } from './written-file.ts'

/** What readers see, and nothing of what a run or a forgotten customer needs. */
const READ_TABLES = 'last_update runs customers changes rejects held_rows retired_organizations horizons'.split(' ')

/** Copies one state of what readers see on a server into a private temporary file of SQLite, which the caller closes. Throws MirrorUnusable. */
export async function makePrivateCopy(address: string, signal?: AbortSignal): Promise<Omit<Unfinished, 'place'>> {
  let copy: Unfinished | undefined
  try {
    copy = beginFile(join(privateFolder(), `copy-${randomUUID()}`))
    const { path } = copy
    await closing(await openServer(address, 'read'), (server) =>
      closing(openDatabase(path, 'write'), async (db) => {
        writeWithoutWaiting(db)
        db.exec('BEGIN')
        await server.read(async (session) => {
          // The server may end a statement, on a standby above all; then all of it is read again.
          db.exec('ROLLBACK; BEGIN')
          await copyRows({ from: session, to: sqliteSession(db), tables: READ_TABLES, signal })
          await noteNumbers(session, db)
        })
        db.exec('COMMIT; ANALYZE')
      }),
    )
    return copy
  } catch (error) {
    copy?.close()
    throw fileError(error, `${tmpdir()} (TMPDIR)`)
  }
}

/** One folder for each user; another one where that is of another user, or open to others. */
function privateFolder(): string {
  const folder = join(tmpdir(), `customer-mirror-${process.geteuid?.()}`)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
  const found = lstatSync(folder)
  const isOurs = found.isDirectory() && found.uid === process.geteuid?.() && (found.mode & 0o077) === 0
  return isOurs ? folder : mkdtempSync(`${folder}-`)
}
