import { readStatement, type SomeRows } from '../../mirror/postgres/reading/read-statement.ts'
import type { CustomersFilter } from './customers-statement.ts'
import { readCustomers } from './postgres-customers.ts'
import { readablePostgres } from './postgres-statement.ts'
import type { UnknownOrganization } from '../organizations/mirrored-in.ts'

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
