import { isOfSqlite, mirrorFault, seenIn } from '../../errors/faults.ts'
import { incomplete } from '../schema/schema.ts'

/** A failure of SQLite as MirrorUnusable; any other error unchanged. */
export function sqliteError(error: unknown, file: string): unknown {
  return isOfSqlite(error) ? fileError(error, file) : error
}

/** A failure of SQLite or of the file system while a mirror is opened, as MirrorUnusable; any other error unchanged. */
export function fileError(error: unknown, file: string): unknown {
  const seen = seenIn(error)
  if (seen !== undefined) return mirrorFault(file, seen, { cause: error })
  const dropped = isOfSqlite(error) ? /^no such table: (?:\w+\.)?(\w+)$/.exec(error.message)?.[1] : undefined
  return dropped === undefined ? error : incomplete(file, [dropped])
}
