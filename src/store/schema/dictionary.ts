import { PUBLIC_TABLES } from '../../model/public-tables.ts'
import type { ServerSession } from '../port/postgres-connections.ts'
import type { Connection } from '../sqlite/connect.ts'

const ROWS = PUBLIC_TABLES.flatMap(({ name, columns }) => columns.map((column) => ({ table: name, ...column })))

/** Writes what each public column holds into a file, where it differs. The caller holds the transaction. */
export function describeInFile(db: Connection): void {
  const rows = ROWS.map((row) => [
    ...[row.table, row.name, row.type, row.meaning, row.source],
    ...[Number(row.nullable), Number(row.personal)],
  ])
  const stored = db.prepare('SELECT * FROM dictionary ORDER BY rowid').raw().all()
  if (JSON.stringify(stored) === JSON.stringify(rows)) return
  db.exec('DELETE FROM dictionary')
  const insert = db.prepare('INSERT INTO dictionary VALUES (?, ?, ?, ?, ?, ?, ?)')
  for (const row of rows) insert.run(row)
}

/** What a column of this name holds on a server, where it is another thing than in a file. */
const MEANINGS_THERE: Readonly<Record<string, string>> = {
  'customers.row_id': 'number of the row within its organization; to join with other mirrors use organization and id',
  'rejects.reject_id': 'number of the reject within this mirror',
  'dictionary.type': 'type in PostgreSQL',
  'dictionary.nullable': 'true where the column may be NULL',
  'dictionary.personal': 'true where the column may hold personal data of a customer',
  'customers.is_active': 'true while the customer is not removed, false after',
  'active_customers.is_active': 'true while the customer is not removed, false after',
}

const ROWS_THERE = ROWS.map(({ table, name: column, meaning, source, nullable, personal }) => {
  return {
    table_name: table,
    column_name: column,
    meaning: MEANINGS_THERE[`${table}.${column}`] ?? meaning,
    source,
    nullable,
    personal,
  }
})

/** Whether a server says of each public column what this program does, and which type it has. */
export async function isDescribed(session: ServerSession): Promise<boolean> {
  const { count } = await session.query(
    `${DESCRIBED} SELECT FROM described FULL JOIN dictionary
    ON dictionary.table_name = described.table_name AND dictionary.column_name = described.column_name WHERE ${DIFFERS} LIMIT 1`,
    GIVEN,
  )
  return count === 0
}

/** The same on a server, with the types that it has. */
export async function describeOnServer(session: ServerSession) {
  await session.query(
    `${DESCRIBED}, gone AS (
       DELETE FROM dictionary WHERE NOT EXISTS (
         SELECT 1 FROM described WHERE described.table_name = dictionary.table_name AND described.column_name = dictionary.column_name)
     )
     INSERT INTO dictionary (table_name, column_name, type, meaning, source, nullable, personal)
     SELECT table_name, column_name, type, meaning, source, nullable, personal FROM described ORDER BY place
     ON CONFLICT (table_name, column_name) DO UPDATE SET type = excluded.type, meaning = excluded.meaning, source = excluded.source,
       nullable = excluded.nullable, personal = excluded.personal
     WHERE ${DIFFERS.replaceAll('described.', 'excluded.')}`,
    GIVEN,
  )
}

const GIVEN = JSON.stringify(ROWS_THERE)

const DESCRIBED = `
  WITH described AS (
    SELECT place, table_name, column_name, format_type(atttypid, atttypmod) AS type, meaning, source, nullable, personal
    FROM ROWS FROM (json_to_recordset($1::json) AS (
      table_name text, column_name text, meaning text, source text, nullable boolean, personal boolean
    )) WITH ORDINALITY AS described (table_name, column_name, meaning, source, nullable, personal, place)
    JOIN pg_attribute ON attrelid = to_regclass(quote_ident(table_name)) AND attname = column_name
  )`

const DIFFERS = `(dictionary.type, dictionary.meaning, dictionary.source, dictionary.nullable, dictionary.personal)
  IS DISTINCT FROM (described.type, described.meaning, described.source, described.nullable, described.personal)`
