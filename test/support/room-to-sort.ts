import Database from 'better-sqlite3'
import { onTestFinished, vi } from 'vitest'

/** SQLite's `temp_store` that keeps the keys of a sort in memory. */
const IN_MEMORY = 2

/** Until the test ends, statements like this find the folder for temporary files full, as SQLite reports it. */
export function fillTemporaryFolder(statements: RegExp): void {
  fillDisk((db, sql) => statements.test(sql) && db.pragma('temp_store', { simple: true }) !== IN_MEMORY)
}

/** Until the test ends, statements that need room find the disk full. */
function fillDisk(needsRoom: (db: Database.Database, sql: string) => boolean): void {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with a database
  const exec = Database.prototype.exec
  const full = vi.spyOn(Database.prototype, 'exec').mockImplementation(function (this: Database.Database, sql) {
    if (!this.memory && needsRoom(this, sql)) throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
    return exec.call(this, sql)
  })
  onTestFinished(() => full.mockRestore())
}
