import type { MovedTable } from './moved-tables.ts'

/**
 * A value as SQLite has it: times as text, booleans as 0 and 1. All numbers are below 2^53.
 */
export type Value = string | number | Buffer | null

/** The values of a row, in the order of the columns of its table. */
export type Row = readonly Value[]

/** Which rows of a table: those of one organization, of several, or all of them. */
export type Scope = readonly string[] | undefined

/** One mirror of a move, open in a transaction: either the one that is read, or the one that is written and then read again. */
export type Side = {
  /** For messages. */
  readonly place: string
  /** The organizations of which the mirror holds anything, in order. */
  organizations(): Promise<string[]>
  count(table: MovedTable, scope: Scope): Promise<number>
  /** The next rows after the one with that key, in the order of the key; the first ones without it. */
  page(table: MovedTable, scope: Scope, after: Row | undefined): Promise<Row[]>
  /** The numbers of the customers of an organization, in order. */
  rowNumbers(organization: string): Promise<Uint32Array>
  insert(table: MovedTable, rows: readonly Row[]): Promise<void>
  clear(table: MovedTable): Promise<void>
  /** The highest number that was ever given in each numbered column, in the order of NUMBERED; 0 for none. */
  highestNumbers(): Promise<number[]>
  /** Goes on with the numbers after these. */
  continueAfter(numbers: readonly number[]): Promise<void>
}

/** The organizations of which a mirror holds anything, in both kinds of mirror. */
export const ORGANIZATIONS = `
  SELECT organization FROM runs UNION SELECT organization FROM customers UNION SELECT organization FROM forgotten_keys
  UNION SELECT organization FROM unfinished_forgets ORDER BY 1`

/** The rows of a table in the order of its key, some at a time. */
export async function* pagesOf(side: Side, table: MovedTable, scope: Scope): AsyncGenerator<Row[]> {
  let last: Row | undefined
  for (;;) {
    const rows = await side.page(table, scope, last)
    if (rows.length > 0) yield rows
    if (rows.length < table.atOnce) return
    last = rows.at(-1)
  }
}

/**
 * The columns by which the rows after another one are found. Rows of one organization are found by the rest of their key, since an index
 * then begins at the next of them: by the whole key, it would begin at the first one of the organization for every page.
 */
export function columnsAfter({ key }: MovedTable, scope: Scope): string[] {
  return key.filter((name) => name !== 'organization' || scope?.length !== 1 || key.length === 1)
}

/** The values of the key of a row. */
export function keyOf(table: MovedTable, row: Row): Value[] {
  return valuesOf(table, table.key, row)
}

/** The values of some columns of a row. */
export function valuesOf({ columns }: MovedTable, of: readonly string[], row: Row): Value[] {
  const names = Object.keys(columns)
  return of.map((name) => row[names.indexOf(name)] ?? null)
}
