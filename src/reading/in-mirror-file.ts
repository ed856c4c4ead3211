import { openDatabase, type Connection } from '../mirror/sqlite/opening/database.ts'

/** What `read` finds in the mirror at `file`. Throws MirrorUnusable for one that cannot be read. */
export function inMirrorFile<Result>(file: string, read: (db: Connection) => Result): Result {
  const db = openDatabase(file, 'read')
  try {
    return read(db)
  } finally {
    db.close()
  }
}
