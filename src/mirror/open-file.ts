import type { Standing } from '../store.ts'
import { realpathSync, statSync, unlinkSync } from 'node:fs'
import { MirrorUnusable } from '../errors.ts'
import type { Connection } from './database.ts'
import { fileError } from './file-errors.ts'

/** The file that a mirror has open, whatever is done to its name meanwhile. */
export type OpenFile = {
  standing(): Standing
  /** Throws MirrorUnusable `mirror-replaced` when nothing written from now on would be found under the name. */
  requireInPlace(): void
  /**
   * To be called before the connection is closed. Where the file was replaced, everything written goes into it, and its journal
   * is taken away from beside the other file, which SQLite would otherwise take for the journal of that one.
   */
  letGo(db: Connection): void
}

/** The file at `file`, which was opened just now; links are followed, as SQLite does. */
export function openFile(file: string): OpenFile {
  const opened = identityOf(file)
  const real = realpathSync(file)
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
      // Behind a link that leads elsewhere now, the file is where it was, and its journal with it.
      if (identityOf(real) === opened) return
      try {
        db.pragma('wal_checkpoint(TRUNCATE)')
      } catch {
        // Another program reads the file that was replaced; what is written stays in the journal, which that one has open too.
      }
      for (const { path, identity } of journals)
        if (identity !== undefined && identityOf(path) === identity) unlinkSync(path)
    },
  }
}

export function replaced(file: string, found: Exclude<Standing, 'same'>): MirrorUnusable {
  const what = found === 'none' ? 'was deleted or moved away' : 'was replaced by another file'
  return new MirrorUnusable(
    `${file}: ${what} while it was open, so what this run wrote is not there. Sync again: ` +
      `${found === 'none' ? 'a new mirror is made' : 'the file that is there now is used'}. ` +
      'Next time stop everything that writes to the mirror first.',
    { code: 'replaced' },
  )
}

/** Device and number of a file; undefined where there is none. */
function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? undefined : `${found.dev}:${found.ino}`
  } catch (error) {
    throw fileError(error, path)
  }
}
