import type { Mirror } from '../../store.ts'
import { shownMirror } from '../../address/mirror-address.ts'
import { ifThere } from '../mirror-errors.ts'
import { copyMirror } from '../move/copy-mirror.ts'
import { postgresSide } from '../move/postgres-side.ts'
import { sqliteSide } from '../move/sqlite-side.ts'
import { rehearsedTables } from '../sql/rehearsed-tables.ts'
import { openDatabase } from './opening/database.ts'

/**
 * A temporary mirror for a dry run: a private file of SQLite with a copy of the organizations in the mirror at `address`, if there is
 * one, read in one snapshot. Nothing is written to the server.
 */
export async function rehearseMirror(
  address: string,
  organizations: readonly string[],
  lists: { withLists?: boolean } = {},
): Promise<Mirror> {
  const { rehearseElsewhere } = await import('../sqlite/sqlite-mirror.ts')
  const tables = rehearsedTables(lists)
  const database = await ifThere(openDatabase(address, 'read'))
  try {
    return await rehearseElsewhere(shownMirror(address), async (db) => {
      const to = sqliteSide(db, 'the copy')
      const copying = { organizations, tables, forPostgres: false }
      await database?.read((session) => {
        // The server may end a statement, on a standby above all; then all of it is read again.
        db.exec('ROLLBACK; BEGIN')
        return copyMirror(postgresSide(session, database.address), to, copying)
      })
    })
  } finally {
    await database?.close()
  }
}
