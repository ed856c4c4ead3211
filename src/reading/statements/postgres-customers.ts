import type { ShownValue } from '../../mirror/postgres/reading/shown-values.ts'
import { readStatement, type SomeRows } from '../../mirror/postgres/reading/read-statement.ts'
import { secondOf } from '../../mirror/postgres/stored-time.ts'
import { SEARCHED, type CustomersFilter } from './customers-statement.ts'

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
