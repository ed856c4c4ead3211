import { isPostgres } from '../address/mirror-address.ts'
import { PUBLIC_TABLES, type PublicColumn, type PublicTable } from '../public-tables.ts'
import { openToRead } from './open-to-read.ts'
import { MANIFEST } from './copy-manifest.ts'
import { statementError } from './readable-statement.ts'

/** A public table, with the types of the store that it is in. */
export type DescribedTable = Omit<PublicTable, 'columns'> & { columns: readonly DescribedColumn[] }
type DescribedColumn = Omit<PublicColumn, 'type'> & { type: string }

/** The public tables that a mirror or a copy has: those in a file, or as the mirror at an address of PostgreSQL describes them itself. */
export async function describedTables(place: string): Promise<DescribedTable[]> {
  return isPostgres(place) ? tablesOfServer(place) : tablesInFile(place)
}

async function tablesOfServer(address: string): Promise<DescribedTable[]> {
  const { readStatement } = await import('../store/postgres/read-statement.ts')
  const sql = 'SELECT "table" || \'.\' || "column", type, meaning FROM dictionary'
  const described = new Map<string, { type: string; meaning: string }>()
  for await (const { rows } of readStatement(address, { sql }, { limitMs: 60_000 }))
    for (const [place, type, meaning] of rows)
      described.set(String(place), { type: String(type), meaning: String(meaning) })
  return PUBLIC_TABLES.map((table) => ({
    ...table,
    columns: table.columns.map((column) => ({ ...column, ...described.get(`${table.name}.${column.name}`) })),
  }))
}

/** A copy without personal data has fewer tables and columns; every copy has a manifest. */
function tablesInFile(file: string): DescribedTable[] {
  const there = columnsIn(file)
  return [...PUBLIC_TABLES, MANIFEST]
    .map((table) => ({ ...table, columns: table.columns.filter(({ name }) => there.has(`${table.name}.${name}`)) }))
    .filter(({ columns }) => columns.length > 0)
}

function columnsIn(file: string): Set<string> {
  try {
    const opened = openToRead(file)
    try {
      const sql = `SELECT s.name || '.' || c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c`
      return new Set(opened.db.prepare<[], string>(sql).pluck().all())
    } finally {
      opened.requireUnchanged()
      opened.close()
    }
  } catch (error) {
    throw statementError(error, file)
  }
}
