import type Database from 'better-sqlite3'
import { hasTable } from './has-table.ts'

/**
 * Takes from the mirror that is about to be replaced what must not go back in time: the numbers of changes and runs, and the
 * greatest `updated_at`. Both are in the form of this program. Whether the feed of the replaced mirror went further than the backup:
 * then readers of the feed need a new copy.
 */
export function carryOver(from: Database.Database, to: Database.Database): { feedGoesBack: boolean } {
  const before = { changes: lastNumber(to, 'changes'), stamp: lastUpdate(to) }
  const after = { changes: lastNumber(from, 'changes'), stamp: lastUpdate(from) }
  for (const table of ['changes', 'runs', 'rejects']) {
    const seq = Math.max(lastNumber(from, table), lastNumber(to, table))
    if (!isNumbered(to, table)) continue
    to.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table)
    to.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, seq)
  }
  to.prepare('UPDATE last_update SET updated_at = max(updated_at, ?)').run(after.stamp)
  return { feedGoesBack: after.changes > before.changes || after.stamp > before.stamp }
}

/** Whether the numbers of a table are never given out again. */
function isNumbered(db: Database.Database, table: string): boolean {
  const sql = db.prepare<[string], string>('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(table)
  return /\bAUTOINCREMENT\b/i.test(sql ?? '')
}

function lastNumber(db: Database.Database, table: string): number {
  if (!hasTable(db, 'sqlite_sequence')) return 0
  return Number(db.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(table) ?? 0)
}

function lastUpdate(db: Database.Database): string {
  if (!hasTable(db, 'last_update')) return ''
  return db.prepare<[], string>('SELECT updated_at FROM last_update').pluck().get() ?? ''
}
