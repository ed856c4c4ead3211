/** Which database a statement is written for. */
export type Kind = 'sqlite' | 'postgres'

/** What may stand in a statement: a value, which is always a parameter, or a part of a statement. */
export type Part = Sql | Fork | Texts | string | number | boolean | null | undefined | Uint8Array | readonly unknown[]

/** A statement, or a part of one, with its values. */
export class Sql {
  readonly texts: readonly string[]
  readonly parts: readonly Part[]

  constructor(texts: readonly string[], parts: readonly Part[]) {
    this.texts = texts
    this.parts = parts
  }
}

/** What the databases say in different words. */
export type Fork = (kind: Kind) => Sql

/** An array of texts that may be many or large: an adapter sends it in the form that its server reads fastest. */
export class Texts {
  readonly values: readonly (string | null)[]

  constructor(values: readonly (string | null)[]) {
    this.values = values
  }
}

/** A statement: sql`SELECT * FROM runs WHERE id = ${id}`. */
export function sql(texts: TemplateStringsArray, ...parts: readonly Part[]): Sql {
  return new Sql(texts, parts)
}

/** Text of a statement as it is: a name, or a condition of this program; never what someone else wrote. */
export function text(words: string): Sql {
  return new Sql([words], [])
}

export function either(sqlite: Sql | string, postgres: Sql | string): Fork {
  return (kind) => {
    const own = kind === 'sqlite' ? sqlite : postgres
    return typeof own === 'string' ? text(own) : own
  }
}

export function joined(parts: readonly Part[], between = ', '): Sql {
  if (parts.length === 0) return text('')
  return new Sql(['', ...parts.slice(1).map(() => between), ''], parts)
}

/** A statement as a database takes it. */
export type Written = { text: string; values: unknown[] }

export function written(statement: Sql, kind: Kind): Written {
  const into: Written = { text: '', values: [] }
  write(statement, kind, into)
  return into
}

function write({ texts, parts }: Sql, kind: Kind, into: Written): void {
  into.text += texts[0] ?? ''
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at]
    if (part instanceof Sql) write(part, kind, into)
    else if (typeof part === 'function') write(part(kind), kind, into)
    else {
      into.values.push(kind === 'sqlite' && typeof part === 'boolean' ? Number(part) : (part ?? null))
      into.text += kind === 'sqlite' ? '?' : `$${into.values.length}`
    }
    into.text += texts[at + 1] ?? ''
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Unix milliseconds in the mirror's form: `YYYY-MM-DD HH:MM:SS.SSS` in UTC, which compares with datetime('now'). */
export function sqlTime(unixMs: number): string {
  if (unixMs !== lastWritten.unixMs) {
    lastWritten = { unixMs, text: new Date(unixMs).toISOString().replace('T', ' ').replace('Z', '') }
  }
  return lastWritten.text
}

/** All rows of a transaction have the same time. */
let lastWritten = { unixMs: 0, text: '1970-01-01 00:00:00.000' }

/** A time of the mirror, as Unix milliseconds. Throws UnreadableValue for one that someone wrote in another form. */
export function fromSqlTime(time: unknown): number {
  // A file holds numbers and bytes in any column.
  const words = String(time)
  const unixMs = DATED.test(words) ? Date.parse(`${words.replace(' ', 'T')}Z`) : Number.NaN
  if (Number.isNaN(unixMs)) throw new UnreadableValue(`holds a time that cannot be read (${words.slice(0, 40)})`)
  return unixMs
}

const DATED = /^[+-]?\d{4,6}-\d\d-\d\d /

/** The time in a column of the mirror, as Unix milliseconds; undefined where there is none. */
export function timeIn(column: string | null | undefined): number | undefined {
  return column === null || column === undefined ? undefined : fromSqlTime(column)
}

/** A time as it was read, without the fraction of a second. */
export function secondOf(time: string): string {
  return time.slice(0, 'YYYY-MM-DD HH:MM:SS'.length)
}

/** A value in a column of the mirror that this program does not write there: someone changed it. */
export class UnreadableValue extends Error {
  override name = 'UnreadableValue' as const
}

/** What an error says of a value that cannot be read; undefined for any other error. */
export function unreadableIn(error: unknown): string | undefined {
  if (error instanceof UnreadableValue) return error.message
  // The message of JSON.parse quotes what may be a value of a customer.
  return error instanceof SyntaxError ? 'holds a text that should be JSON, and cannot be read' : undefined
}

// What SQLite and PostgreSQL say in different words, each under one name.

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

type Rows = readonly Readonly<Record<string, unknown>>[]

/**
 * Rows of this program as a table with these columns, of types that a server has: for a file as JSON, and for a server as an array for each
 * column, expanded in the select list: in FROM, it would first write every one of them into a store of its own.
 */
export function given(rows: Rows, columns: Readonly<Record<string, string>>, name = 'given'): Fork {
  const all = (shown: (column: string, type: string) => Sql) =>
    joined(Object.entries(columns).map(([column, type]) => sql`${shown(column, type)} AS ${text(quoted(column))}`))
  const inJson = (column: string) => text(`value ->> '${column}'`)
  const inArray = (column: string, type: string) => {
    const values = rows.map((row) => row[column] ?? null)
    const array =
      type === 'bigint' || type === 'boolean'
        ? sql`${values}::${text(type)}[]`
        : sql`${new Texts(values.map(asParameter))}::text[]`
    return sql`unnest((SELECT ${array}))::${text(type)}`
  }
  return (kind) =>
    kind === 'sqlite'
      ? sql`(SELECT ${all(inJson)} FROM json_each(${JSON.stringify(rows)})) AS ${text(name)}`
      : sql`(SELECT ${all(inArray)}) AS ${text(name)}`
}

function asParameter(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : JSON.stringify(value)
}

/** Texts or numbers of this program as a table with one column. */
export function givenAs(column: string, values: readonly string[] | readonly number[], name = 'given'): Fork {
  const type = text(typeof values[0] === 'number' ? 'bigint' : 'text')
  const [shown, table] = [column, name].map((each) => text(quoted(each)))
  return either(
    sql`(SELECT value AS ${shown} FROM json_each(${JSON.stringify(values)})) AS ${table}`,
    sql`(SELECT unnest((SELECT ${values}::${type}[])) AS ${shown}) AS ${table}`,
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
