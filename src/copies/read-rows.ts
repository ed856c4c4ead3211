import { isPostgres } from '../address/mirror-address.ts'
import { UsageError } from '../errors/errors.ts'
import { either, joined, secondOf, type Sql, sql, text, written } from '../store/port/sql.ts'
import type { SomeRows } from '../store/postgres/read-statement.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { hasColumns, openToRead } from './open-to-read.ts'
import { mirroredIn, type UnknownOrganization } from './organizations.ts'
import { prepareToRead, readablePostgres, type SqlValue } from './readable-statement.ts'

/** What a reader of a mirror or a copy asks for: the rows of a statement of his own, or customers. */
export type Asked = {
  read: { sql: string } | { customers: CustomersFilter }
  /** Organizations of the configuration, which may be asked for although the mirror does not know them yet. */
  configured: readonly string[]
  /** How long a statement may take; undefined if there is no limit. */
  limitMs?: number | undefined
}

/** Which customers to read, and which of their columns, where the file has them. */
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

/**
 * The rows of a mirror or a copy that are asked for, from one state of it, some at a time; or the organization that is named and that is not
 * known. Throws UsageError for a mistake in a statement, and MirrorUnusable.
 */
export async function readRows(place: string, asked: Asked): Promise<AsyncIterable<SomeRows> | UnknownOrganization> {
  return isPostgres(place) ? readServer(place, asked) : readFile(place, asked)
}

async function readFile(
  file: string,
  { read, configured }: Asked,
): Promise<AsyncIterable<SomeRows> | UnknownOrganization> {
  const opened = openToRead(file, { asMade: !('sql' in read) })
  try {
    const organization = 'sql' in read ? undefined : read.customers.organization
    const known = organization === undefined ? [] : mirroredIn(opened.db)
    if (organization !== undefined && ![...known, ...configured].includes(organization)) {
      opened.close()
      return { organization, known }
    }
    const rows = 'sql' in read ? rowsIn(opened.db, read.sql) : customersIn(opened.db, read.customers)
    return untilClosed(rows, () => {
      opened.requireUnchanged()
      opened.close()
    })
  } catch (error) {
    opened.close()
    throw error
  }
}

async function* untilClosed(rows: Iterable<SomeRows>, close: () => void): AsyncGenerator<SomeRows> {
  try {
    yield* rows
  } finally {
    close()
  }
}

/** Some rows at a time, and one that is large alone: it may be as large as memory allows. The first have the columns alone. */
function* rowsIn(db: Connection, statement: string, values: readonly unknown[] = []): Generator<SomeRows, void> {
  const prepared = prepareToRead(db, statement)
  const columns = prepared.columns().map(({ name }) => name)
  yield { columns, rows: [] }
  let rows: SqlValue[][] = []
  let length = 0
  for (const row of prepared.iterate(...values)) {
    rows.push(row)
    for (const value of row) length += typeof value === 'object' || typeof value === 'string' ? (value?.length ?? 0) : 8
    if (length < AT_ONCE) continue
    yield { columns, rows }
    rows = []
    length = 0
  }
  yield { columns, rows }
}

/** Characters and bytes. */
const AT_ONCE = 16 * 1024

/** The columns that are searched. */
const SEARCHED = ['name', 'username', 'email']

/** The customers that the filter asks for, in the order of organization and id. */
export function* customersIn(db: Connection, filter: CustomersFilter): Generator<SomeRows, void> {
  const columns = hasColumns(db, filter.columns)
  const searched = filter.search === undefined ? [] : requireColumns(db, SEARCHED)
  if (filter.language !== undefined) requireColumns(db, ['language'])
  const statement = written(customersStatement({ ...filter, columns }, searched), 'sqlite')
  const found = foundIn({ ...filter, columns })
  for (const some of rowsIn(db, statement.text, statement.values)) {
    yield found.take(some)
    if (found.isEnough()) return
  }
}

/** Those of the columns that the file has. A copy without personal data has none of them. */
function requireColumns(db: Connection, columns: readonly string[]): string[] {
  const found = hasColumns(db, columns)
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

/** Takes the rows that are wanted, as many as are, and of them the columns that are. */
function foundIn({ columns, search, limit = Infinity }: CustomersFilter) {
  const wanted = search?.toLowerCase()
  let left = limit
  return {
    take(some: SomeRows): SomeRows {
      const isFound = (row: readonly SqlValue[]) => wanted === undefined || mentions(row.slice(columns.length), wanted)
      const rows = some.rows.filter(isFound).slice(0, left)
      left -= rows.length
      return {
        columns: some.columns.slice(0, columns.length),
        rows: rows.map((row) => columns.map((name, at) => shownValue(name, row[at] ?? null))),
      }
    },
    isEnough: () => left === 0,
  }
}

/** As the service searches. */
function mentions(values: readonly SqlValue[], wanted: string): boolean {
  return values.some((value) => typeof value === 'string' && value.toLowerCase().includes(wanted))
}

/** `created_at_utc` without a fraction of a second, as in SQLite. */
function shownValue(name: string, value: SqlValue): SqlValue {
  return name === 'created_at_utc' && typeof value === 'string' ? secondOf(value) : value
}

/** The server ends a statement a little later than the program that asked, which says more about it. */
const LATER_MS = 1000

/** A search for these customers takes no longer on any mirror. */
const SEARCH_MS = 600_000

async function readServer(address: string, { read, configured, limitMs }: Asked) {
  const { readStatement } = await import('../store/postgres/read-statement.ts')
  if ('sql' in read) {
    const limit = { limitMs: limitMs === undefined ? 0 : limitMs + LATER_MS }
    return readStatement(address, { sql: readablePostgres(read.sql) }, limit)
  }
  const { organization } = read.customers
  if (organization !== undefined) {
    const known: string[] = []
    const all = { sql: 'SELECT DISTINCT organization FROM runs ORDER BY organization' }
    for await (const { rows } of readStatement(address, all, { limitMs: SEARCH_MS }))
      known.push(...rows.map(([id]) => String(id)))
    if (![...known, ...configured].includes(organization)) return { organization, known }
  }
  return readCustomers(address, read.customers)
}

/** The customers that the filter asks for, as `customersIn` finds them in a file. */
export async function* readCustomers(address: string, filter: CustomersFilter): AsyncGenerator<SomeRows> {
  const { readStatement } = await import('../store/postgres/read-statement.ts')
  const statement = written(customersStatement(filter, filter.search === undefined ? [] : SEARCHED), 'postgres')
  const found = foundIn(filter)
  const reading = { sql: statement.text, parameters: statement.values }
  for await (const some of readStatement(address, reading, { limitMs: SEARCH_MS })) {
    yield found.take(some)
    if (found.isEnough()) return
  }
}
