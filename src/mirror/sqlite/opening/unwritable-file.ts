import Database from 'better-sqlite3'
import { accessSync, chmodSync, constants, copyFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MirrorUnusable } from '../../../errors/errors.ts'
import { makeTemporaryFolder } from '../../../machine/temporary-folder.ts'
import { connect } from './connect.ts'

/** Whether a file cannot be read since SQLite wants to make files beside it, or to write it. */
export function isForWantOfJournals(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(READONLY|CANTOPEN)/.test(error.code)
}

/** Whether it cannot be read because this user may not make files beside it, so that only a private copy can. */
export function needsPrivateCopy(error: unknown, file: string): boolean {
  return isForWantOfJournals(error) && !mayWriteBeside(file)
}

/** Whether this user may make files beside this one: not on a read-only disk. */
export function mayWriteBeside(file: string): boolean {
  try {
    accessSync(dirname(realpathSync(file)), constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Opens the file to read only. Throws SqliteError, also where it can be opened and not read. */
export function openReadOnly(name: string, busyMs: number): Database.Database {
  const db = connect(name, { readonly: true, fileMustExist: true, timeout: busyMs })
  try {
    db.prepare('SELECT COUNT(*) FROM sqlite_schema').get()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens a private copy with its journals. It has no name once it is open. */
export function openPrivateCopy(file: string, busyMs: number): Database.Database {
  return fromPrivateCopy(file, (copy) => openReadOnly(copy, busyMs))
}

/** Attaches the file under this name, or a private copy where SQLite cannot make the files that it wants beside it. */
export function attachAnywhere(db: Database.Database, file: string, name: string): void {
  const attach = (path: string): unknown => db.prepare(`ATTACH ? AS ${name}`).run(path)
  try {
    attach(file)
  } catch (error) {
    if (!needsPrivateCopy(error, file)) throw error
    fromPrivateCopy(realpathSync(file), attach)
  }
}

/** Opens a private copy, in which SQLite brings the file and its journals together, and which is deleted once it is open. */
function fromPrivateCopy<Opened>(file: string, open: (copy: string) => Opened): Opened {
  const folder = makeTemporaryFolder()
  try {
    const copy = join(folder, 'copy.db')
    const before = stateOf(file)
    for (const suffix of ['', ...journalsOf(file)]) {
      copyFileSync(file + suffix, copy + suffix, constants.COPYFILE_FICLONE)
      chmodSync(copy + suffix, 0o600)
    }
    if (stateOf(file) !== before) throw writtenMeanwhile(file)
    const whole = connect(copy, { fileMustExist: true })
    try {
      whole.pragma('synchronous = OFF')
      whole.pragma('journal_mode = DELETE')
    } finally {
      whole.close()
    }
    return open(copy)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The journals that hold something, as what their names add to the name of the file. */
export function journalsOf(file: string): string[] {
  return ['-wal', '-journal'].filter((suffix) => (statSync(file + suffix, { throwIfNoEntry: false })?.size ?? 0) > 0)
}

/** Differs from what it was once a program wrote to the file. */
export function stateOf(file: string): string {
  return ['', ...journalsOf(file)]
    .map((suffix) => {
      const found = statSync(file + suffix, { bigint: true, throwIfNoEntry: false })
      return [suffix, found?.ino, found?.size, found?.mtimeNs, found?.ctimeNs].join(' ')
    })
    .join('\n')
}

/** The error of a file that changed while it was read without a lock. */
export function writtenMeanwhile(file: string): MirrorUnusable {
  return new MirrorUnusable(
    `${file}: was written while it was read, so the rows may not belong together. Try again, or read a published copy.`,
    { code: 'locked' },
  )
}
