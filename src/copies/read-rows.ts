import { isPostgres } from '../address/mirror-address.ts'
import { UsageError } from '../errors/errors.ts'
import { either, joined, secondOf, type Sql, sql, text, type Written, written } from '../store/port/sql.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { hasColumns, openToRead } from './open-to-read.ts'
import { requireKnown } from './organizations.ts'
import type { SomeRows } from './postgres-statement.ts'
import { lengthOf, prepareToRead, type SqlValue, statementError } from './sqlite-statement.ts'

/*
 * Rows of a mirror or a copy, from one state of it, some at a time. Throws UsageError for a mistake in what is asked for, and MirrorUnusable.
 */

/** The rows of one statement that only reads. A server ends it a little later than the program that asked, which says more about it. */
export function readStatement(
  place: string,
  statement: string,
  { limitMs }: { limitMs?: number | undefined } = {},
): AsyncGenerator<SomeRows, void> {
  const limit = { limitMs: limitMs === undefined ? 0 : limitMs + 1000 }
  return readIn(place, limit, ({ rowsOf }) => rowsOf(text(statement)))
}

/** How a mirror or a copy is read: the rows of a statement, and which of some columns of customers it has. */
type Reader = {
  rowsOf: (statement: Sql) => Iterable<SomeRows> | AsyncIterable<SomeRows>
  hasOf: (columns: readonly string[]) => readonly string[]
}

/** `asMade`: a file of which a table has another shape is refused. `limitMs` and `signal` end a statement on a server. */
async function* readIn(
  place: string,
  { asMade = false, ...ending }: { asMade?: boolean; limitMs: number; signal?: AbortSignal | undefined },
  read: (reader: Reader) => Iterable<SomeRows> | AsyncIterable<SomeRows>,
): AsyncGenerator<SomeRows, void> {
  if (isPostgres(place)) {
    const postgres = await import('./postgres-statement.ts')
    const rowsOf = (statement: Sql) => postgres.readStatement(place, written(statement, 'postgres'), ending)
    yield* read({ rowsOf, hasOf: (columns) => columns })
    return
  }
  const opened = openToRead(place, { asMade })
  try {
    yield* read({
      rowsOf: (statement) => rowsIn(opened.db, written(statement, 'sqlite')),
      hasOf: (columns) => hasColumns(opened.db, columns),
    })
    opened.requireUnchanged()
  } catch (error) {
    throw statementError(error, place)
  } finally {
    opened.close()
  }
}

/** Some rows at a time, and one that is large alone: it may be as large as memory allows. The first have the columns alone. */
function* rowsIn(db: Connection, { text: statement, values }: Written): Generator<SomeRows, void> {
  const prepared = prepareToRead(db, statement)
  const columns = prepared.columns().map(({ name }) => name)
  yield { columns, rows: [] }
  let rows: SqlValue[][] = []
  let length = 0
  for (const row of prepared.iterate(...values)) {
    rows.push(row)
    length += lengthOf(row)
    if (length < AT_ONCE) continue
    yield { columns, rows }
    rows = []
    length = 0
  }
  yield { columns, rows }
}

/** Characters and bytes. */
const AT_ONCE = 16 * 1024

export type CustomersFilter = {
  columns: readonly string[]
  organization?: string | undefined
  /** A part of the name, the username or the e-mail address, in any case. */
  search?: string | undefined
  language?: string | undefined
  includeRemoved: boolean
  /** How many at most; undefined for all of them. */
  limit?: number | undefined
}

/** A search for these customers takes no longer on any mirror. */
const SEARCH_MS = 600_000

/** The customers that the filter asks for, in the order of organization and id; of an organization that the mirror or the configuration knows. */
export function readCustomers(
  place: string,
  filter: CustomersFilter,
  { configured = [], signal }: { configured?: readonly string[]; signal?: AbortSignal } = {},
): AsyncGenerator<SomeRows, void> {
  return readIn(place, { asMade: true, limitMs: SEARCH_MS, signal }, (reader) =>
    customersBy(reader, filter, configured),
  )
}

async function* customersBy(
  { rowsOf, hasOf }: Reader,
  filter: CustomersFilter,
  configured: readonly string[],
): AsyncGenerator<SomeRows, void> {
  const { organization, search, language, limit = Infinity } = filter
  if (organization !== undefined) {
    const known: string[] = []
    for await (const { rows } of rowsOf(sql`SELECT DISTINCT organization FROM runs`))
      known.push(...rows.map(([id]) => String(id)))
    requireKnown([organization], { known: known.toSorted(), configured })
  }
  const columns = hasOf(filter.columns)
  const searched = search === undefined ? [] : requireColumns(SEARCHED, hasOf)
  if (language !== undefined) requireColumns(['language'], hasOf)
  const wanted = search?.toLowerCase()
  let left = limit
  for await (const some of rowsOf(customersStatement({ ...filter, columns }, searched))) {
    const found = some.rows.filter((row) => wanted === undefined || mentions(row.slice(columns.length), wanted))
    const rows = found.slice(0, left).map((row) => columns.map((name, at) => shownValue(name, row[at] ?? null)))
    left -= rows.length
    yield { columns: some.columns.slice(0, columns.length), rows }
    if (left === 0) return
  }
}

const SEARCHED = ['name', 'username', 'email']

/** Those of the columns that the file has. A copy without personal data has none of them. */
function requireColumns(columns: readonly string[], hasOf: Reader['hasOf']): readonly string[] {
  const found = hasOf(columns)
  if (found.length > 0) return found
  throw new UsageError(`This copy has no column ${columns.join(', ')}: it was published without personal data.`)
}

function customersStatement(filter: CustomersFilter, searched: readonly string[]): Sql {
  const { columns, organization, language, search, includeRemoved } = filter
  const conditions = [
    ...(organization === undefined ? [] : [sql`organization = ${organization}`]),
    ...(language === undefined ? [] : [sql`language = ${language}`]),
    ...(search === undefined ? [] : [mayMention(searched, search.toLowerCase())]),
    ...(includeRemoved ? [] : [sql`removed_at IS NULL`]),
  ]
  const where = conditions.length === 0 ? sql`` : sql`WHERE ${joined(conditions, ' AND ')}`
  return sql`SELECT ${text([...columns, ...searched].join(', '))} FROM customers ${where} ORDER BY organization, id`
}

/**
 * Whether a customer may be one that the service would find. The database lowers the letters of ASCII alone: PostgreSQL as "C" has them, since
 * in Turkish, the small form of I is another one than ours. Values that are longer in bytes than in characters are decided here.
 */
function mayMention(searched: readonly string[], wanted: string): Sql {
  const found = searched.map((column) => {
    const name = text(column)
    const hasIt = either(
      sql`instr(lower(${name}), ${wanted}) > 0`,
      sql`strpos(lower(${name} COLLATE "C"), ${wanted}) > 0`,
    )
    const isLonger = either(
      `octet_length(${column}) <> length(${column})`,
      `octet_length(${column}) <> char_length(${column})`,
    )
    return sql`${hasIt} OR ${isLonger}`
  })
  return sql`(${joined(found, ' OR ')})`
}

function mentions(values: readonly SqlValue[], wanted: string): boolean {
  return values.some((value) => typeof value === 'string' && value.toLowerCase().includes(wanted))
}

/** `created_at_utc` without a fraction of a second, as in SQLite. */
function shownValue(name: string, value: SqlValue): SqlValue {
  return name === 'created_at_utc' && typeof value === 'string' ? secondOf(value) : value
}
