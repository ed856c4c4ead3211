import type { CustomersFilter } from '../reading/customers-statement.ts'
import type { Layout } from './output/rows/row-format.ts'

/** What the process that reads is to do, as JSON on its standard input. Paths are absolute. */
export type ReadingPlan = {
  file: string
  read: { sql: string } | { customers: CustomersFilter }
  /** Organizations of the configuration, which may be asked for although the mirror does not know them yet. */
  configured: readonly string[]
  layout: Layout
  /** End after so many rows, and report whether there are more. */
  most?: number | undefined
}

/**
 * What that process reports, one in a line of JSON: `reading` while SQLite works, so that a time limit counts, and `writing`
 * while it waits for whatever takes the rows; then how it ended.
 */
export type ReadingReport =
  | ['reading' | 'writing' | 'unread']
  | ['done', { more: boolean }]
  | ['unknown-organization', { organization: string; known: string[] }]
  | ['unwritten', string]
  | ['failed', { code: string; message: string }]
