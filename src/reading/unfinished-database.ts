import type { Connection } from '../store/sqlite/connect.ts'

/** For a file that is worth nothing until it is finished: nothing waits for the disk, and no row is checked before the end. */
export function writeWithoutWaiting(db: Connection): void {
  db.pragma('main.journal_mode = MEMORY')
  db.pragma('main.synchronous = OFF')
  db.pragma('foreign_keys = OFF')
}
