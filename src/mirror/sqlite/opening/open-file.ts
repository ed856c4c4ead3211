import type { Standing } from '../../../store.ts'
import { realpathSync, unlinkSync } from 'node:fs'
import type { Connection } from './database.ts'
import { identityOf } from './file-identity.ts'
import { replaced } from '../../mirror-errors.ts'

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
