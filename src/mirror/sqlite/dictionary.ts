import { PUBLIC_TABLES } from '../../public-tables.ts'
import type { Connection } from './opening/database.ts'
import { statement } from './statement.ts'

/** Writes what each public column holds into the mirror, where it differs. The caller holds the transaction. */
export function writeDictionary(db: Connection): void {
  const rows = PUBLIC_TABLES.flatMap(({ name, columns }) =>
    columns.map((column) => [
      ...[name, column.name, column.type, column.meaning, column.source],
      ...[Number(column.nullable), Number(column.personal)],
    ]),
  )
  const stored = statement<[], unknown[]>(db, 'SELECT * FROM dictionary ORDER BY rowid').raw().all()
  if (JSON.stringify(stored) === JSON.stringify(rows)) return
  db.exec('DELETE FROM dictionary')
  const insert = statement<[readonly unknown[]], never>(db, 'INSERT INTO dictionary VALUES (?, ?, ?, ?, ?, ?, ?)')
  for (const row of rows) insert.run(row)
}
