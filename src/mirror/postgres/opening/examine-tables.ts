import { MOVED_TABLES } from '../../move/moved-tables.ts'

/** What in the tables of a mirror would end a run. */
export type ExaminedTables = {
  /** A table that this user may not write. */
  unwritable: string | null
  /** A column of the mirror that is not there, after its table and a dot. */
  lacking: string | null
  /** A column that someone added, and that is neither filled nor may be NULL; after its table and a dot. */
  unfilled: string | null
}

type Query = (sql: string, parameters: string[]) => Promise<{ rows: ExaminedTables[] }>

/** Looks at the tables of a mirror of this version in this schema, and not at others there. */
export async function examineTables(query: Query, schema: string): Promise<ExaminedTables> {
  const { rows } = await query(EXAMINE, [schema, KNOWN])
  return rows[0] ?? { unwritable: null, lacking: null, unfilled: null }
}

/** Every table, with its columns; those without any here are carried by no move. */
const KNOWN = JSON.stringify({
  ...{ mirror_schema: [], leases: [], dictionary: [] },
  ...Object.fromEntries(MOVED_TABLES.map(({ name, columns }) => [name, Object.keys(columns)])),
})

/** What a trigger before INSERT may fill is left to it. */
const EXAMINE = `
  WITH held AS (
    SELECT known.name, known.columns, pg_class.oid
    FROM json_each($2::json) AS known (name, columns)
      LEFT JOIN pg_class ON relname = known.name AND relkind IN ('r', 'p')
        AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
  )
  SELECT
    (SELECT min(name) FROM held, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
     WHERE NOT has_table_privilege(held.oid, needed)) AS unwritable,
    (SELECT min(name || '.' || needed) FROM held, json_array_elements_text(columns) AS needed
     WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = held.oid AND attname = needed AND NOT attisdropped)) AS lacking,
    (SELECT min(name || '.' || attname) FROM held JOIN pg_attribute ON attrelid = held.oid
     WHERE json_array_length(columns) > 0 AND attnum > 0 AND attnotnull AND NOT atthasdef AND attidentity = '' AND NOT attisdropped
       AND attname NOT IN (SELECT json_array_elements_text(columns))
       AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = held.oid AND NOT tgisinternal AND tgtype & 6 = 6)) AS unfilled`
