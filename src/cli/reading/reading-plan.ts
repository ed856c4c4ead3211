import type { CustomersFilter } from '../../reading/statements/customers-statement.ts'
import type { UnknownOrganization } from '../../reading/organizations/mirrored-in.ts'
import type { Layout } from '../output/rows/row-format.ts'

/** What the process that reads is to do, as JSON on its standard input. Paths are absolute. */
export type ReadingPlan = {
  /** A mirror or a copy; or the address of a mirror in PostgreSQL, which may hold a password. */
  file: string
  read: { sql: string } | { customers: CustomersFilter }
  /** Organizations of the configuration, which may be asked for although the mirror does not know them yet. */
  configured: readonly string[]
  layout: Layout
  /** End after so many rows, and report whether there are more. */
  most?: number | undefined
  /** How long the statement may take; undefined if there is no limit. */
  limitMs?: number | undefined
}

/** To report which columns a file has. */
export type ColumnsPlan = { file: string; columns: true }

/**
 * What that process reports, one in a line of JSON: `reading` while SQLite works, so that a time limit counts, and `writing`
 * while it waits for whatever takes the rows; then how it ended.
 */
export type ReadingReport =
  | ['reading' | 'writing' | 'unread']
  | ['done', { more: boolean }]
  | ['unknown-organization', UnknownOrganization]
  | ['columns', string[]]
  | ['failed', { code: string; message: string }]
