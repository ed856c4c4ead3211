import { openDatabase } from '../store/sqlite/open-database.ts'
import type { Connection } from '../store/sqlite/connect.ts'

/** What `read` finds in the mirror at `file`. Throws MirrorUnusable for one that cannot be read. */
export function inMirrorFile<Result>(file: string, read: (db: Connection) => Result): Result {
  const db = openDatabase(file, 'read')
  try {
    return read(db)
  } finally {
    db.close()
  }
}
