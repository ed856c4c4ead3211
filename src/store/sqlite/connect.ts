import { realpathSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { MirrorUnusable } from '../../errors/errors.ts'

export type Connection = Database.Database

/** How long a write waits for another program's transaction before it gives up. */
export const BUSY_TIMEOUT_MS = 15_000

/** Opens a file of SQLite. Throws SqliteError, also for a folder that is not there, of which the driver speaks without a code. */
export function connect(file: string, options: Database.Options = {}): Database.Database {
  try {
    return new Database(file, options)
  } catch (error) {
    throw withoutFolder(error)
  }
}

/** The error of SQLite for a folder that the driver did not find; any other error unchanged. */
function withoutFolder(error: unknown): unknown {
  const isOfDriver = error instanceof TypeError && error.message.endsWith('because the directory does not exist')
  return isOfDriver ? new Database.SqliteError('unable to open database file', 'SQLITE_CANTOPEN') : error
}

type Kept = Map<string, Database.Statement>
const keptByConnection = new WeakMap<Database.Database, Kept>()

/** The prepared statement for `sql`, prepared once for each connection. */
export function statement<Parameters extends unknown[], Row>(
  db: Database.Database,
  sql: string,
): Database.Statement<Parameters, Row> {
  let kept = keptByConnection.get(db)
  if (kept === undefined) keptByConnection.set(db, (kept = new Map()))
  let prepared = kept.get(sql)
  if (prepared === undefined) kept.set(sql, (prepared = db.prepare(sql)))
  // The border to SQL: the author of a statement declares its parameters and rows, and the tests that run it check them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return prepared as Database.Statement<Parameters, Row>
}

/*
 * A file of SQLite in a folder that this user may not write, or on a medium that cannot be written. SQLite wants to make the files of a WAL
 * beside it even to read. Where nothing lies beside, it is read in place, as if it never changed (`immutable=1`); that needs a process
 * that was started with `SQLITE_USE_URI=1`.
 */

/** A file that is open to read only. */
export type OpenedReadOnly = {
  db: Database.Database
  /** Throws MirrorUnusable if the file was read in place and was written meanwhile, so that what was read may not belong together. */
  requireUnchanged(): void
}

/** Opens the file to read only. Throws SqliteError, also where it can be opened and not read, and MirrorUnusable. */
export function openReadOnly(file: string, busyMs: number): OpenedReadOnly {
  try {
    return { db: openAndRead(file, busyMs), requireUnchanged: () => {} }
  } catch (error) {
    const inPlace = addressInPlace(file, error)
    const before = stateOf(file)
    return {
      db: openAndRead(inPlace, busyMs),
      requireUnchanged() {
        if (stateOf(file) !== before) throw writtenMeanwhile(file)
      },
    }
  }
}

/** Attaches the file under this name, to be read. Throws as `openReadOnly` does. */
export function attachReadOnly(db: Database.Database, file: string, name: string): void {
  const attach = (path: string): unknown => db.prepare(`ATTACH ? AS ${name}`).run(path)
  try {
    attach(file)
  } catch (error) {
    attach(addressInPlace(file, error))
  }
}

function openAndRead(name: string, busyMs: number): Database.Database {
  const db = connect(name, { readonly: true, fileMustExist: true, timeout: busyMs })
  try {
    db.prepare('SELECT COUNT(*) FROM sqlite_schema').get()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** By what the file is read in place, after SQLite could not open it with this error. Throws the error where that would not help. */
function addressInPlace(file: string, error: unknown): string {
  if (!(error instanceof Database.SqliteError && /^SQLITE_(READONLY|CANTOPEN)/.test(error.code))) throw error
  const real = realpathSync(file)
  const journal = ['-wal', '-journal'].map((suffix) => real + suffix).find(holdsBytes)
  if (journal === undefined) return `${pathToFileURL(real).href}?immutable=1`
  throw new MirrorUnusable(
    `${file}: has ${basename(journal)} beside it, with which it can be read only where this user may write (${error.code}). Read it as a ` +
      'user who may write its folder, or copy both files to a folder of your own.',
    { code: 'denied' },
    { cause: error },
  )
}

function holdsBytes(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
}

function stateOf(file: string): string {
  return ['', '-wal', '-journal']
    .map((suffix) => {
      const found = statSync(file + suffix, { bigint: true, throwIfNoEntry: false })
      return [found?.ino, found?.size, found?.mtimeNs, found?.ctimeNs].join(' ')
    })
    .join('\n')
}

function writtenMeanwhile(file: string): MirrorUnusable {
  return new MirrorUnusable(
    `${file}: was written while it was read, so the rows may not belong together. Try again, or read a published copy.`,
    { code: 'busy' },
  )
}
