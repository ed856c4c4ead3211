import type Database from 'better-sqlite3'

/** What readers look for: the queries of the README, and those by e-mail, by language, and since a moment. */
const INDEXES: readonly { table: string; columns: readonly string[]; by?: string; unique?: true }[] = [
  { table: 'customers', columns: ['organization', 'id'], unique: true },
  { table: 'customers', columns: ['email'] },
  { table: 'customers', columns: ['organization', 'language', 'removed_at'] },
  { table: 'customers', columns: ['updated_at'] },
  { table: 'customers', columns: ['changed_at'] },
  { table: 'changes', columns: ['organization', 'id'] },
  // As in the mirror, for customers_daily.
  { table: 'changes', columns: ['organization', 'at', 'change'], by: 'organization, substr(at, 1, 10), change' },
  { table: 'runs', columns: ['organization', 'id'] },
  { table: 'customers_history', columns: ['organization', 'id', 'valid_from'] },
  { table: 'customers_daily', columns: ['organization', 'day'] },
]

/** Adds each index whose table and columns are in the copy. */
export function addIndexes(db: Database.Database): void {
  for (const { table, columns, by = columns.join(', '), unique } of INDEXES) {
    if (!isTableWith(db, table, columns)) continue
    const name = `${table}_by_${columns.join('_')}`
    db.exec(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX main.${name} ON ${table} (${by})`)
  }
}

function isTableWith(db: Database.Database, table: string, columns: readonly string[]): boolean {
  const sql = `SELECT name FROM pragma_table_info(?, 'main')
    WHERE EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = ? AND type = 'table')`
  const found = db.prepare<[string, string], string>(sql).pluck().all(table, table)
  return columns.every((column) => found.includes(column))
}
