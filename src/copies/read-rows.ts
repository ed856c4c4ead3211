import { isPostgres } from '../address/mirror-address.ts'
import { UsageError } from '../errors/errors.ts'
import { either, joined, secondOf, type Sql, sql, text, written } from '../store/port/sql.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { hasColumns, type OpenedToRead, openToRead } from './open-to-read.ts'
import { mirroredIn, requireKnown } from './organizations.ts'
import type { SomeRows } from './postgres-statement.ts'
import { prepareToRead, type SqlValue, statementError } from './sqlite-statement.ts'

/*
 * Rows of a mirror or a copy, from one state of it, some at a time. Throws UsageError for a mistake in what is asked for, and MirrorUnusable.
 */

/** The rows of one statement that only reads. A server ends it a little later than the program that asked, which says more about it. */
export async function* readStatement(
  place: string,
  statement: string,
  { limitMs }: { limitMs?: number | undefined } = {},
): AsyncGenerator<SomeRows, void> {
  if (isPostgres(place)) {
    const postgres = await import('./postgres-statement.ts')
    const limit = { limitMs: limitMs === undefined ? 0 : limitMs + LATER_MS }
    yield* postgres.readStatement(place, { sql: postgres.readablePostgres(statement) }, limit)
  } else yield* inFile(place, {}, ({ db }) => rowsIn(db, statement))
}

const LATER_MS = 1000

async function* inFile(
  file: string,
  options: { asMade?: boolean },
  read: (opened: OpenedToRead) => Iterable<SomeRows>,
): AsyncGenerator<SomeRows, void> {
  const opened = openToRead(file, options)
  try {
    yield* read(opened)
    opened.requireUnchanged()
  } catch (error) {
    throw statementError(error, file)
  } finally {
    opened.close()
  }
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

/** A search for these customers takes no longer on any mirror. */
const SEARCH_MS = 600_000

/** The customers that the filter asks for; of an organization that the mirror or the configuration knows. */
export async function* readCustomers(
  place: string,
  filter: CustomersFilter,
  { configured = [], signal }: { configured?: readonly string[]; signal?: AbortSignal } = {},
): AsyncGenerator<SomeRows, void> {
  const named = filter.organization === undefined ? [] : [filter.organization]
  if (isPostgres(place)) yield* customersOnServer(place, filter, { named, configured, signal })
  else
    yield* inFile(place, { asMade: true }, ({ db }) => {
      requireKnown(named, { known: mirroredIn(db), configured })
      return customersIn(db, filter)
    })
}

type Asking = { named: readonly string[]; configured: readonly string[]; signal: AbortSignal | undefined }

async function* customersOnServer(
  place: string,
  filter: CustomersFilter,
  { named, configured, signal }: Asking,
): AsyncGenerator<SomeRows, void> {
  const postgres = await import('./postgres-statement.ts')
  const ending = { limitMs: SEARCH_MS, signal }
  const known: string[] = []
  if (named.length > 0)
    for await (const { rows } of postgres.readStatement(
      place,
      { sql: 'SELECT DISTINCT organization FROM runs' },
      ending,
    ))
      known.push(...rows.map(([id]) => String(id)))
  requireKnown(named, { known: known.toSorted(), configured })
  const statement = written(customersStatement(filter, filter.search === undefined ? [] : SEARCHED), 'postgres')
  const found = foundIn(filter)
  const reading = { sql: statement.text, parameters: statement.values }
  for await (const some of postgres.readStatement(place, reading, ending)) {
    yield found.take(some)
    if (found.isEnough()) return
  }
}
