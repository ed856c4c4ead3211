import { migrateOlder, type Connection } from '../../mirror/sqlite/opening/database.ts'
import { LATEST_VERSION } from '../../mirror/sqlite/opening/migrate.ts'
import { isMirror } from '../file-kind.ts'
import { openToRead, type OpenedToRead } from '../open-to-read.ts'

/**
 * Opens a mirror or a copy to read only. A mirror of an earlier version is first brought up to date, as publish does, since it
 * lacks columns that readers rely on. Throws MirrorUnusable.
 */
export function openToExport(file: string): OpenedToRead {
  const opened = openToRead(file)
  if (!isOlderMirror(opened.db)) return opened
  opened.close()
  migrateOlder(file)
  return openToRead(file)
}

function isOlderMirror(db: Connection): boolean {
  return isMirror(db) && Number(db.pragma('user_version', { simple: true })) < LATEST_VERSION
}
