import { MirrorUnusable } from '../../errors/errors.ts'
import { PUBLIC_TABLES, type PublicTable } from '../../model/public-tables.ts'
import type { Kind } from '../port/sql.ts'
import { POSTGRES_TRIGGERS, SQLITE_TRIGGERS, tables } from './tables.ts'
import { views } from './views.ts'
import { wordsOf } from './words.ts'

/** Marks the schema of a server as a mirror, in one row, and keeps the tokens of transactions whose answer may have been lost. */
const MARK = `
CREATE TABLE mirror_schema (
  id      integer PRIMARY KEY CHECK (id = 1),
  version integer NOT NULL                         -- that of the program that made it; another one leaves it alone
);
CREATE TABLE commits (
  token   text COLLATE "C" PRIMARY KEY,
  is_void boolean NOT NULL                         -- taken so that the transaction of this token can no longer be committed
);`

/** What a column of this name, or of this table, holds on a server, where it is another thing than in a file. */
const MEANINGS_THERE: Readonly<Record<string, string>> = {
  'customers.row_id': 'number of the row within its organization; to join with other mirrors use organization and id',
  'rejects.reject_id': 'number of the reject within this mirror',
  'dictionary.type': 'type in PostgreSQL',
  'dictionary.nullable': 'true where the column may be NULL',
  'dictionary.personal': 'true where the column may hold personal data of a customer',
  is_active: 'true while the customer is not removed, false after',
}

/** All that makes a new mirror, but for the rows of its dictionary, which no start needs. */
export const SQLITE_SCHEMA = schemaFor('sqlite', SQLITE_TRIGGERS)
export const POSTGRES_SCHEMA = MARK + schemaFor('postgres', POSTGRES_TRIGGERS)

function schemaFor(kind: Kind, triggers: string): string {
  const words = wordsOf(kind)
  return [tables(words), triggers, views(words)].join('\n')
}

/** Says what each public column of these tables holds: on a server with the types that it has. */
export function dictionary(kind: Kind, described: readonly PublicTable[] = PUBLIC_TABLES): string {
  const rows = described.flatMap(({ name: table, columns }) =>
    columns.map(({ name, type, meaning, source, nullable, personal }) => {
      const said =
        kind === 'postgres' ? (MEANINGS_THERE[name] ?? MEANINGS_THERE[`${table}.${name}`] ?? meaning) : meaning
      const texts = [table, name, type, said, source].map((words) => `'${words.replaceAll("'", "''")}'`)
      return `(${texts.join(', ')}, ${nullable}, ${personal})`
    }),
  )
  const values = `VALUES\n${rows.join(',\n')}`
  if (kind === 'sqlite') return `INSERT INTO dictionary ${values};`
  return `
INSERT INTO dictionary SELECT table_name, column_name, (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = table_name::regclass AND attname = column_name), meaning, source, nullable, personal
  FROM (${values}) AS described (table_name, column_name, type, meaning, source, nullable, personal);`
}

/** Indexes that only readers need, made once a list was read to its end, by their names and what they are on. */
export const READING_INDEXES = {
  customers_by_email: 'customers (email)',
  // `removed_at` is in the index for `active_customers`, which then counts from the index alone.
  customers_by_language: 'customers (organization, language, removed_at)',
  customers_by_update: 'customers (updated_at)',
}

/** The version of the mirrors that this program makes, in both databases, and the only one that it opens. */
export const VERSION = 1

/** The tables, views and triggers that a schema makes. An index may be missing: some are made when there is something to find. */
export function namesIn(schema: string): string[] {
  return Array.from(schema.matchAll(/^CREATE (?:TABLE|VIEW|TRIGGER) (\w+)/gm), ([, name = '']) => name)
}

export type Table = { name: string; key: readonly string[]; columns: readonly { name: string; type: string }[] }

function tablesIn(schema: string): Table[] {
  return Array.from(schema.matchAll(/^CREATE TABLE (\w+) \(\n(.*?)\n\)/gms), ([, table = '', body = '']) => {
    const found = body.matchAll(/^ {2}"?([a-z]\w*)"? +(\w+)/gm)
    const columns = Array.from(found, ([, name = '', type = '']) => ({ name, type }))
    // The key of one column is the first.
    const key = /^ {2}PRIMARY KEY \((.*)\)/m.exec(body)?.[1]?.split(', ')
    return { name: table, key: key ?? columns.slice(0, 1).map(({ name }) => name), columns }
  })
}

const TABLES_OF_FILE = tablesIn(SQLITE_SCHEMA)

/** Those of a server have the same columns, with types of their own for truth, times and JSON. */
export const TABLES_OF_SERVER: readonly Table[] = tablesIn(POSTGRES_SCHEMA)

export const COLUMNS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  TABLES_OF_FILE.map(({ name, columns }) => [name, columns.map((column) => column.name)]),
)

/** The columns that each table and each public view has to have. */
export const SHAPES: Readonly<Record<string, readonly string[]>> = {
  ...COLUMNS,
  ...Object.fromEntries(PUBLIC_TABLES.map(({ name, columns }) => [name, columns.map((column) => column.name)])),
}

export const TIMES: readonly (readonly [table: string, columns: string[]])[] = TABLES_OF_FILE.map(
  ({ name, columns }) =>
    [name, columns.filter(({ type }) => type === 'DATETIME').map((column) => column.name)] as const,
).filter(([, columns]) => columns.length > 0)

/** Columns of which no number is given twice, with their tables. */
export const NUMBERED = Array.from(
  SQLITE_SCHEMA.matchAll(/^CREATE TABLE (\w+) \(\n {2}(\w+) .*\bAUTOINCREMENT\b/gm),
  ([, table = '', column = '']) => [table, column] as const,
)

/** The error of a mirror, or of what is named as its place, that a program of another version made or has changed meanwhile. */
export function otherVersion(place: string, found: number): MirrorUnusable {
  return new MirrorUnusable(
    `${place}: another version of Customer Mirror made this mirror (it is of version ${found}, this program makes and reads version ${VERSION}), so ` +
      'it is left as it is. Use the version that made it, or name another mirror in the configuration and sync anew.',
    { code: 'version' },
  )
}

/** The error of a mirror of which someone dropped these tables, views or triggers. */
export function incomplete(place: string, missing: readonly string[]): MirrorUnusable {
  return new MirrorUnusable(
    `${place}: lacks what belongs to a mirror (${missing.join(', ')}). Put back a backup, or name another mirror in the configuration and ` +
      'sync anew.',
    { code: 'damaged' },
  )
}
