import { readStatement, type ShownValue, type SomeRows } from '../../store/postgres/read-statement.ts'
import { type CustomersFilter, SEARCHED } from './customers-statement.ts'
import type { UnknownOrganization } from '../organizations/mirrored-in.ts'
import { UsageError } from '../../errors/errors.ts'
import { firstWord, REFUSED, textFrom } from './readable-statement.ts'
import { secondOf } from '../../store/port/sql-time.ts'

/** The server ends a statement a little later than the program that asked, which says more about it. */
const LATER_MS = 1000

type Asked = {
  read: { sql: string } | { customers: CustomersFilter }
  /** Organizations of the configuration, which may be asked for although the mirror does not know them yet. */
  configured: readonly string[]
  /** How long a statement may take; undefined if there is no limit. */
  limitMs?: number | undefined
}

/** The rows of a mirror in PostgreSQL that are asked for; or the organization that is named and that is not known. */
export async function readPostgres(
  address: string,
  { read, configured, limitMs }: Asked,
): Promise<AsyncIterable<SomeRows> | UnknownOrganization> {
  const limit = limitMs === undefined ? 0 : limitMs + LATER_MS
  if ('sql' in read) return readStatement(address, { sql: readablePostgres(read.sql) }, { limitMs: limit })
  const { organization } = read.customers
  if (organization !== undefined) {
    const known = await organizationsIn(address)
    if (![...known, ...configured].includes(organization)) return { organization, known }
  }
  return readCustomers(address, read.customers)
}

/** Every organization that was ever mirrored. */
async function organizationsIn(address: string): Promise<string[]> {
  const sql = 'SELECT DISTINCT organization FROM runs ORDER BY organization'
  const known: string[] = []
  for await (const { rows } of readStatement(address, { sql }, { limitMs: 60_000 }))
    known.push(...rows.map(([organization]) => String(organization)))
  return known
}

/**
 * The statement without what stands before its first word. Throws UsageError unless it begins as one that reads does, with the reason
 * in our words. The server makes sure that nothing is written: it runs the statement in a READ ONLY transaction.
 */
export function readablePostgres(sql: string): string {
  const { word, text } = firstWord(sql)
  const key = word.toUpperCase()
  if (READS.has(key)) return text
  if (key === 'EXPLAIN') {
    if (!READS.has(firstWord(explained(text)).word.toUpperCase()))
      throw new UsageError('sql explains SELECT, WITH, VALUES and TABLE only.')
    return text
  }
  if (key === 'PRAGMA')
    throw new UsageError(
      'PRAGMA is of SQLite, and this mirror is in PostgreSQL. The tables and columns: customer-mirror sql --tables',
    )
  throw new UsageError(
    REFUSED[key] ??
      `A statement starts with SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW, not with "${word || text[0]}".`,
  )
}

const READS = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE', 'SHOW'])

/** What stands behind EXPLAIN and its options. */
function explained(text: string): string {
  return textFrom(text.replace(/^explain\b/i, '')).replace(/^(?:\([^)]*\)|(?:analyze\b|verbose\b|\s+)+)\s*/i, '')
}

/** A search for these customers takes no longer on any mirror. */
const LIMIT_MS = 600_000

/** The customers that the filter asks for, in the order of organization and id, as `customersStatement` finds them in SQLite. */
export async function* readCustomers(address: string, filter: CustomersFilter): AsyncGenerator<SomeRows> {
  const { columns, organization, language, search, includeRemoved, limit } = filter
  const parameters: unknown[] = []
  const bound = (value: unknown) => `$${parameters.push(value)}`
  const wanted = search?.toLowerCase()
  const conditions = [
    ...(organization === undefined ? [] : [`organization = ${bound(organization)}`]),
    ...(language === undefined ? [] : [`language = ${bound(language)}`]),
    ...(wanted === undefined ? [] : [mayMention(bound(wanted))]),
    ...(includeRemoved ? [] : ['removed_at IS NULL']),
  ]
  const shown = [...columns, ...(wanted === undefined ? [] : SEARCHED)].join(', ')
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const sql = `SELECT ${shown} FROM customers ${where} ORDER BY organization, id`
  let left = limit ?? Infinity
  for await (const some of readStatement(address, { sql, parameters }, { limitMs: LIMIT_MS })) {
    const found =
      wanted === undefined ? some.rows : some.rows.filter((row) => mentions(row.slice(columns.length), wanted))
    const rows = found.slice(0, left).map((row) => columns.map((name, at) => shownValue(name, row[at] ?? null)))
    left -= rows.length
    yield { columns: some.columns.slice(0, columns.length), rows }
    if (left === 0) return
  }
}

/** `created_at_utc` without a fraction of a second, as in SQLite. */
function shownValue(name: string, value: ShownValue): ShownValue {
  return name === 'created_at_utc' && typeof value === 'string' ? secondOf(value) : value
}

/**
 * Whether the server may have found it. It lowers the letters of ASCII alone, as "C" has them: in Turkish, the small form of I is another one
 * than ours. Values that are longer in bytes than in characters are decided here.
 */
function mayMention(text: string): string {
  const found = SEARCHED.map(
    (column) =>
      `strpos(lower(${column} COLLATE "C"), ${text}) > 0 OR octet_length(${column}) <> char_length(${column})`,
  )
  return `(${found.join(' OR ')})`
}

function mentions(values: readonly ShownValue[], wanted: string): boolean {
  return values.some((value) => typeof value === 'string' && value.toLowerCase().includes(wanted))
}
