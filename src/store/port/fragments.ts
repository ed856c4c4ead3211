import { either, type Fork, joined, sql, type Sql, text } from './sql.ts'

/*
 * What SQLite and PostgreSQL say in different words, each under one name.
 */

/** Whether a column is one of some texts or numbers. PostgreSQL does not see how many there are, and so looks each of them up. */
export function isIn(column: string, values: readonly string[] | readonly number[]): Sql | Fork {
  if (values.length === 0) return text('false')
  const type = typeof values[0] === 'number' ? 'bigint' : 'text'
  return either(
    sql`${text(column)} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
    sql`${text(column)} = ANY (ARRAY(SELECT unnest(${values}::${text(type)}[])))`,
  )
}

/** Whether a column is one of those that a query finds. PostgreSQL looks each of them up: joined, it would read the whole table at each step. */
export function isFoundBy(column: string, query: Sql): Fork {
  return either(sql`${text(column)} IN (${query})`, sql`${text(column)} = ANY (ARRAY(${query}))`)
}

/** Ends a subquery that PostgreSQL is to answer by itself: neither merged into the statement around it nor done twice. */
export const APART = either('', 'OFFSET 0')

/** Rows of customers, or of a table that refers to them. SQLite finds them by their numbers, whatever indexes there are. */
export function rowsOf(organization: string, rowIds: readonly number[], table = ''): Sql {
  const name = (column: string) => (table === '' ? column : `${table}.${column}`)
  return sql`${either('+', '')}${text(name('organization'))} = ${organization} AND ${isIn(name('row_id'), rowIds)}`
}

type ColumnType = 'text' | 'bigint' | 'boolean' | 'json'

/** Rows of this program as a table with these columns. */
export function given(rows: readonly object[], columns: Readonly<Record<string, ColumnType>>, name = 'given'): Fork {
  const json = JSON.stringify(rows)
  const picked = Object.keys(columns).map((column) => text(`value ->> '${column}' AS ${column}`))
  const typed = Object.entries(columns).map(([column, type]) => text(`${column} ${type}`))
  return either(
    sql`(SELECT ${joined(picked)} FROM json_each(${json})) AS ${text(name)}`,
    sql`json_to_recordset(${json}::json) AS ${text(name)} (${joined(typed)})`,
  )
}

/** After ON CONFLICT, what was given takes the place of what was there in these columns. */
export function replacing(...columns: readonly string[]): string {
  return `DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`
}

/** The greater of two values; NULL counts as less. */
export function greatest(one: Sql, other: Sql): Fork {
  return either(sql`coalesce(max(${one}, ${other}), ${one}, ${other})`, sql`greatest(${one}, ${other})`)
}

/** A time as a parameter where PostgreSQL would not see by itself that it is one. */
export function moment(time: string | null): Fork {
  return either(sql`${time}`, sql`${time}::timestamptz`)
}

/** Whether a text holds another one. In PostgreSQL the letters of ASCII first: in a Turkish database, i is not the small form of I. */
export function mentions(column: string, wanted: Sql): Fork {
  const lowered = (of: Sql) => sql`lower(lower(${of} COLLATE "C") COLLATE "default")`
  return either(
    sql`instr(lower(${text(column)}), lower(${wanted})) > 0`,
    sql`strpos(${lowered(text(column))}, ${lowered(wanted)}) > 0`,
  )
}

/** A column with JSON, as text. */
export const asText = (column: string): Sql => text(`CAST(${column} AS text)`)

/** Where a text stands in a column; 0 where it does not. */
export function place(column: string, wanted: string): Fork {
  return either(sql`instr(${text(column)}, ${wanted})`, sql`strpos(${asText(column)}, ${wanted}::text)`)
}

/** Keeps rows from others until the transaction ends; in SQLite a transaction that writes is alone. */
export const FOR_UPDATE = either('', 'FOR UPDATE')

/** The clock by which leases run: that of the server, or NULL where it is the one of this process. */
export const SERVER_MS = either('NULL', '(extract(epoch FROM clock_timestamp()) * 1000)::bigint')

/** What the transaction changes in customers from here on is not noted as an edit by hand. */
export const UNNOTICED = either(
  'INSERT INTO unnoticed (id) VALUES (1)',
  `SELECT set_config('customer_mirror.unnoticed', 'on', true)`,
)
export const NOTICED = either('DELETE FROM unnoticed', `SELECT set_config('customer_mirror.unnoticed', '', true)`)
