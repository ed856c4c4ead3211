import type { Connection } from '../../store/sqlite/connect.ts'
import { UsageError } from '../../errors/errors.ts'
import { prepareToRead, type ReadableStatement } from './readable-statement.ts'

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

/** The columns that are searched. */
export const SEARCHED = ['name', 'username', 'email']

/** The statement for these customers, with its parameters bound, in the order of organization and id. */
export function customersStatement(db: Connection, filter: CustomersFilter): ReadableStatement {
  const there = new Set(db.prepare<[], string>(`SELECT name FROM pragma_table_info('customers')`).pluck().all())
  const columns = filter.columns.filter((column) => there.has(column))
  const { organization, language, search, includeRemoved, limit } = filter
  const conditions = [
    ...(organization === undefined ? [] : ['organization = @organization']),
    ...(language === undefined ? [] : [requireColumns(['language'], there) && 'language = @language']),
    ...(search === undefined ? [] : [mentionsSearch(db, requireColumns(SEARCHED, there))]),
    ...(includeRemoved ? [] : ['removed_at IS NULL']),
  ]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const sql = `SELECT ${columns.join(', ')} FROM customers ${where} ORDER BY organization, id LIMIT @limit`
  const bound = { organization, language, search: search?.toLowerCase(), limit: limit ?? -1 }
  return prepareToRead(db, sql).bind(
    Object.fromEntries(Object.entries(bound).filter(([, value]) => value !== undefined)),
  )
}

/**
 * As the service searches. SQLite lowers ASCII letters alone, which is all there is to lower in most values; the others are
 * compared as the service compares them. A value that is longer in bytes than in characters is such a value.
 */
function mentionsSearch(db: Connection, columns: readonly string[]): string {
  db.function('mentions', { deterministic: true }, (value: unknown, wanted: unknown) =>
    String(value).toLowerCase().includes(String(wanted)) ? 1 : 0,
  )
  const found = columns.map(
    (column) =>
      `(instr(lower(${column}), @search) > 0 OR (octet_length(${column}) <> length(${column}) AND mentions(${column}, @search)))`,
  )
  return `(${found.join(' OR ')})`
}

/** Those of the columns that the file has. A copy without personal data has none of them. */
function requireColumns(columns: readonly string[], there: ReadonlySet<string>): string[] {
  const found = columns.filter((column) => there.has(column))
  if (found.length > 0) return found
  throw new UsageError(`This copy has no column ${columns.join(', ')}: it was published without personal data.`)
}
