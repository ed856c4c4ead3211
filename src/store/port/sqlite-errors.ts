import { isOfSqlite, mirrorFault, seenIn } from '../../errors/faults.ts'
import { incomplete, namesIn, SQLITE_SCHEMA } from '../schema/schema.ts'
import type { Connection } from '../sqlite/connect.ts'
import { refusalIn, reshapedIn } from '../sqlite/foreign-objects.ts'
import { unreadableIn } from './sql.ts'

/** A failure of SQLite as MirrorUnusable; any other error unchanged. With the connection it is looked for what someone added to the mirror. */
export function sqliteError(error: unknown, file: string, db?: Connection): unknown {
  const said = unreadableIn(error) ?? (db === undefined ? undefined : foreignIn(db, error))
  if (said !== undefined) return meddledWith(file, said, error)
  return isOfSqlite(error) ? fileError(error, file) : error
}

/** A failure of SQLite or of the file system while a mirror is opened, as MirrorUnusable; any other error unchanged. */
export function fileError(error: unknown, file: string): unknown {
  const seen = seenIn(error)
  if (seen !== undefined) return mirrorFault(file, seen, { cause: error })
  if (isOfSqlite(error) && error.message.startsWith('no such module: ')) return meddledWith(file, error.message, error)
  const dropped = droppedTable(error)
  return dropped === undefined ? error : incomplete(file, [dropped])
}

/** A sound mirror of which someone changed this. */
export function meddledWith(file: string, said: string, cause?: unknown) {
  return mirrorFault(file, { fault: 'foreign', said }, { where: 'contents', cause })
}

function foreignIn(db: Connection, error: unknown): string | undefined {
  if (!isOfSqlite(error) || !db.open || droppedTable(error) !== undefined) return undefined
  return (error.code === 'SQLITE_ERROR' ? reshapedIn(db) : undefined) ?? refusalIn(db, error)
}

const NAMES: ReadonlySet<string> = new Set(namesIn(SQLITE_SCHEMA))

/** The table or view of a mirror that is not there. */
function droppedTable(error: unknown): string | undefined {
  const name = isOfSqlite(error) ? /^no such table: (?:\w+\.)?(\w+)$/.exec(error.message)?.[1] : undefined
  return name !== undefined && NAMES.has(name) ? name : undefined
}
