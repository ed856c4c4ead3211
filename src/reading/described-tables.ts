import { readStatement } from '../mirror/postgres/reading/read-statement.ts'
import { PUBLIC_TABLES, type PublicColumn, type PublicTable } from '../public-tables.ts'

/** A public table, with the types of the store that it is in. */
export type DescribedTable = Omit<PublicTable, 'columns'> & { columns: readonly DescribedColumn[] }
type DescribedColumn = Omit<PublicColumn, 'type'> & { type: string }

/** The public tables as the mirror at an address of PostgreSQL describes them itself. */
export async function describedTables(address: string): Promise<DescribedTable[]> {
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
