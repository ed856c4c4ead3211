import { createHash } from 'node:crypto'
import { PUBLIC_TABLES } from '../../public-tables.ts'
import type { Session } from './session.ts'

/** What a column of this name holds, where it is another thing than in SQLite. */
const MEANINGS_HERE: Readonly<Record<string, string>> = {
  'customers.row_id': 'number of the row within its organization; to join with other mirrors use organization and id',
  'rejects.reject_id': 'number of the reject within this mirror',
  'dictionary.type': 'type in PostgreSQL',
  'dictionary.nullable': 'true where the column may be NULL',
  'dictionary.personal': 'true where the column may hold personal data of a customer',
  'customers.is_active': 'true while the customer is not removed, false after',
  'active_customers.is_active': 'true while the customer is not removed, false after',
}

/** What each public column holds, in one row each. */
const ROWS = PUBLIC_TABLES.flatMap(({ name, columns }) =>
  columns.map((column) => ({
    table: name,
    column: column.name,
    meaning: MEANINGS_HERE[`${name}.${column.name}`] ?? column.meaning,
    source: column.source,
    nullable: column.nullable,
    personal: column.personal,
  })),
)

/** Whether the mirror says of each public column what this program does, and which type it has. */
export async function isDescribed(session: Session): Promise<boolean> {
  const stored = await session.first<{ digest: string | null; has_types: boolean | null }>(DIGEST)
  return stored?.has_types === true && stored.digest === digestOf(ROWS)
}

function digestOf(rows: typeof ROWS): string {
  const inOrder = rows.toSorted((one, other) => compare(one.table, other.table) || compare(one.column, other.column))
  const lines = inOrder.map(({ table, column, meaning, source, nullable, personal }) =>
    [table, column, meaning, source, Number(nullable), Number(personal)].join('\t'),
  )
  return createHash('md5').update(lines.join('\n')).digest('hex')
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

/** Types are compared there, since only the server knows them. */
const DIGEST = `
  SELECT bool_and(type IS NOT DISTINCT FROM (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
      WHERE attrelid = to_regclass(quote_ident("table")) AND attname = "column")) AS has_types,
    md5(string_agg(concat_ws(E'\\t', "table", "column", meaning, source, nullable::int, personal::int), E'\\n'
    ORDER BY "table" COLLATE "C", "column" COLLATE "C")) AS digest FROM dictionary`

/** Writes what each public column holds into the mirror, where it differs; types as PostgreSQL has them. In the caller's transaction. */
export async function writeDictionary(session: Session): Promise<void> {
  await session.run(WRITE, JSON.stringify(ROWS))
}

const WRITE = `
  WITH described AS (
    SELECT place, "table", "column", format_type(atttypid, atttypmod) AS type, meaning, source, nullable, personal
    FROM ROWS FROM (json_to_recordset($1::json) AS (
      "table" text, "column" text, meaning text, source text, nullable boolean, personal boolean
    )) WITH ORDINALITY AS described ("table", "column", meaning, source, nullable, personal, place)
    JOIN pg_attribute ON attrelid = to_regclass(quote_ident("table")) AND attname = "column"
  ), gone AS (
    DELETE FROM dictionary WHERE NOT EXISTS (
      SELECT 1 FROM described WHERE described."table" = dictionary."table" AND described."column" = dictionary."column")
  )
  INSERT INTO dictionary ("table", "column", type, meaning, source, nullable, personal)
  SELECT "table", "column", type, meaning, source, nullable, personal FROM described ORDER BY place
  ON CONFLICT ("table", "column") DO UPDATE SET type = excluded.type, meaning = excluded.meaning, source = excluded.source,
    nullable = excluded.nullable, personal = excluded.personal
  WHERE (dictionary.type, dictionary.meaning, dictionary.source, dictionary.nullable, dictionary.personal)
    IS DISTINCT FROM (excluded.type, excluded.meaning, excluded.source, excluded.nullable, excluded.personal)`
