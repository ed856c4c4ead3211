import { isPostgres } from '../address/mirror-address.ts'
import { PUBLIC_TABLES, type PublicColumn, type PublicTable } from '../public-tables.ts'
import { MANIFEST } from './copy-manifest.ts'
import { readRows } from './read-rows.ts'
import { statementError } from './readable-statement.ts'

/** A public table, with the types of the store that it is in. */
export type DescribedTable = Omit<PublicTable, 'columns'> & { columns: readonly DescribedColumn[] }
type DescribedColumn = Omit<PublicColumn, 'type'> & { type: string }

/**
 * The public tables that a mirror or a copy has, as the mirror at an address of PostgreSQL describes them itself. A copy without personal data has
 * fewer tables and columns; every copy has a manifest.
 */
export async function describedTables(place: string): Promise<DescribedTable[]> {
  const described = new Map<string, Partial<Pick<DescribedColumn, 'type' | 'meaning'>>>()
  const onServer = isPostgres(place)
  try {
    const found = await readRows(place, {
      read: { sql: onServer ? DICTIONARY : COLUMNS },
      configured: [],
      limitMs: 60_000,
    })
    if ('known' in found) return []
    for await (const { rows } of found)
      for (const [name, type, meaning] of rows)
        described.set(String(name), onServer ? { type: String(type), meaning: String(meaning) } : {})
  } catch (error) {
    throw onServer ? error : statementError(error, place)
  }
  return [...PUBLIC_TABLES, MANIFEST]
    .map((table) => ({
      ...table,
      columns: table.columns.flatMap((column) => {
        const found = described.get(`${table.name}.${column.name}`)
        return found === undefined ? [] : [{ ...column, ...found }]
      }),
    }))
    .filter(({ columns }) => columns.length > 0)
}

const DICTIONARY = 'SELECT "table" || \'.\' || "column", type, meaning FROM dictionary'
const COLUMNS = `SELECT s.name || '.' || c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c`
