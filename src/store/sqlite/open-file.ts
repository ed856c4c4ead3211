import { realpathSync, statSync, unlinkSync } from 'node:fs'
import type { Standing } from '../../model/mirror.ts'
import type { Connection } from './connect.ts'
import { replaced } from '../refusals.ts'
import { fileError } from '../port/sqlite-errors.ts'
import { mirrorFault } from '../../errors/faults.ts'

/** The open file of a mirror, even if its path leads elsewhere by now. */
export type OpenFile = {
  standing(): Standing
  /** Throws MirrorUnusable `replaced` when the path no longer leads to the open file. */
  requireInPlace(): void
  /**
   * Call it before the connection is closed. If the file was replaced, its WAL is checkpointed into it and removed from beside the
   * new file: SQLite would use it as the WAL of the new file.
   */
  letGo(db: Connection): void
}

/** The file at `file`, which was just opened; links are followed, as in SQLite. */
export function openFile(file: string): OpenFile {
  const opened = identityOf(file)
  const real = realpathSync.native(file)
  const journals = ['-wal', '-shm'].map((suffix) => ({ path: real + suffix, identity: identityOf(real + suffix) }))

  function standing(): Standing {
    const found = identityOf(file)
    if (found === undefined) return 'none'
    return found === opened ? 'same' : 'another'
  }

  return {
    standing,
    requireInPlace() {
      const found = standing()
      if (found !== 'same') throw replaced(file, found)
    },
    letGo(db) {
      // If a link leads elsewhere now, the file is still at its place, and its WAL too.
      if (identityOf(real) === opened) return
      try {
        db.pragma('wal_checkpoint(TRUNCATE)')
      } catch {
        // Another program reads the old file; the last writes stay in the WAL, which that program has open too.
      }
      for (const { path, identity } of journals)
        if (identity !== undefined && identityOf(path) === identity) unlinkSync(path)
    },
  }
}

/** Device and inode of a file; undefined if there is none. */
export function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? undefined : `${found.dev}:${found.ino}`
  } catch (error) {
    throw fileError(error, path)
  }
}

/** Throws MirrorUnusable unless `file`, which is there, is a regular file. Opens nothing: a pipe would be waited for without end. */
export function requireRegularFile(file: string): void {
  const found = statSync(file)
  if (found.isFile()) return
  throw mirrorFault(file, { fault: 'foreign', said: found.isDirectory() ? 'is a folder' : 'is a pipe or a device' })
}
