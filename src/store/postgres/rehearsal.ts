import type { Mirror } from '../../store.ts'
import { shownMirror } from '../../address/mirror-address.ts'
import { copyRows } from '../move-mirror.ts'
import { postgresSession } from '../port/postgres-store.ts'
import { sqliteSession } from '../port/sqlite-store.ts'
import { ifThere } from '../refusals.ts'
import { rehearsedTables } from '../sqlite/rehearsal.ts'
import { openDatabase } from './open-database.ts'

/**
 * A temporary mirror for a dry run: a private file of SQLite with a copy of the organizations in the mirror at `address`, if there is
 * one, read in one snapshot. Nothing is written to the server.
 */
export async function rehearseMirror(
  address: string,
  organizations: readonly string[],
  lists: { withLists?: boolean } = {},
): Promise<Mirror> {
  const { rehearseElsewhere } = await import('../open-sqlite.ts')
  const tables = rehearsedTables(lists)
  const database = await ifThere(openDatabase(address, 'read'))
  try {
    return await rehearseElsewhere(shownMirror(address), async (db) => {
      await database?.read((session) => {
        // The server may end a statement, on a standby above all; then all of it is read again.
        db.exec('ROLLBACK; BEGIN')
        return copyRows({ from: postgresSession(session), to: sqliteSession(db), organizations, tables })
      })
    })
  } finally {
    await database?.close()
  }
}
