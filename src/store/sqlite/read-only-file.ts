import Database from 'better-sqlite3'
import { realpathSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MirrorUnusable } from '../../errors/errors.ts'
import { connect } from './connect.ts'

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

/** Differs from what it was once a program wrote to the file. */
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
