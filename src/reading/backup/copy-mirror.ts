import Database from 'better-sqlite3'
import { Interrupted } from '../../errors/errors.ts'
import { withoutFolder } from '../../store/sqlite/connect.ts'
import { quoted } from '../../store/port/sql.ts'
import type { OpenedToRead } from '../open-to-read.ts'

/** How much of a file is copied, as a share from 0 to 1. */
export type Copying = { signal: AbortSignal; onProgress: (share: number) => void }

/** Pages copied at a time, 16 MB: between two steps the process takes signals. */
const PAGES_AT_ONCE = 4096

/** The number of rows of each table. */
export type RowCounts = Readonly<Record<string, number>>

/**
 * Copies one state of a mirror into the file at `path`, while runs go on writing: the copy is made within one read transaction,
 * because SQLite would otherwise begin anew after every write of another process. Returns the rows of that state. Throws
 * Interrupted after an abort.
 */
export async function copyMirror(
  source: OpenedToRead,
  path: string,
  { signal, onProgress }: Copying,
): Promise<RowCounts> {
  const { db } = source
  db.exec('BEGIN')
  try {
    const counts = countRows(db)
    const copying = db.backup(path, {
      progress({ totalPages, remainingPages }) {
        if (signal.aborted) throw new Interrupted('Stopped as asked. Nothing was changed.')
        onProgress(totalPages === 0 ? 0 : 1 - remainingPages / totalPages)
        return PAGES_AT_ONCE
      },
    })
    await copying.catch((error: unknown) => {
      throw withoutFolder(error)
    })
    source.requireUnchanged()
    return counts
  } finally {
    db.exec('ROLLBACK')
  }
}

/** Every table, internal ones included. */
export function countRows(db: Database.Database): RowCounts {
  const names = db
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .pluck()
    .all()
  return Object.fromEntries(
    names.map((name) => [
      name,
      Number(
        db
          .prepare(`SELECT COUNT(*) FROM ${quoted(name)}`)
          .pluck()
          .get(),
      ),
    ]),
  )
}
