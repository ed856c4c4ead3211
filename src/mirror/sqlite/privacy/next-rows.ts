import { REWRITTEN_AT_ONCE } from '../../hidden-rows.ts'
import type { Connection } from '../opening/database.ts'
import { statement } from '../statement.ts'

/** The rows of a table to rewrite, in the order of their `number`. */
export type Wanted = {
  table: 'customers' | 'changes' | 'rejects' | 'runs'
  number: string
  columns: readonly string[]
  condition?: string
}

/** A step in a table: the rows to rewrite, and the number of the last row that it looked at; undefined if no more are left. */
export type NextRows<Row> = { rows: Row[]; last: number | undefined }

/**
 * A step looks at so many rows at most: those of an organization may stand far from each other, among those of all the others, and nothing
 * else in this process goes on meanwhile.
 */
const LOOKED_AT = 20_000

/**
 * The next rows of an organization after another one. If it has few, they are found by an index of organizations, and sorted at each step;
 * if it has many, the whole table is gone through in its order.
 */
export function nextRows<Row>(
  db: Connection,
  wanted: Wanted,
  { organization, after }: { organization: string; after: number },
): NextRows<Row> {
  const { table, number, columns, condition = 'true' } = wanted
  const select = `SELECT ${[number, ...columns].join(', ')} FROM ${table} WHERE ${condition}`
  if (hasFew(db, table, organization)) {
    const next = `${select} AND organization = ? AND +${number} > ? ORDER BY +${number} LIMIT ${REWRITTEN_AT_ONCE}`
    const rows = statement<[string, number], Row>(db, next).all(organization, after)
    return { rows, last: lastOf(rows, number) }
  }
  const to = lastToLookAt(db, wanted, after)
  const next = `${select} AND +organization = ? AND ${number} > ? AND ${number} <= ? ORDER BY ${number} LIMIT ${REWRITTEN_AT_ONCE}`
  const rows = statement<[string, number, number], Row>(db, next).all(
    organization,
    after,
    to ?? Number.MAX_SAFE_INTEGER,
  )
  return { rows, last: lastOf(rows, number) ?? to }
}

/** The indexes of rejects hold either the open ones or the others. */
function hasFew(db: Connection, table: Wanted['table'], organization: string): boolean {
  if (table === 'rejects') return false
  const beyond = `SELECT 1 FROM ${table} WHERE organization = ? LIMIT 1 OFFSET ${LOOKED_AT}`
  return statement<[string], number>(db, beyond).get(organization) === undefined
}

/** The number of the last row of a full step; undefined if there were fewer rows. */
function lastOf(rows: readonly unknown[], number: string): number | undefined {
  if (rows.length < REWRITTEN_AT_ONCE) return undefined
  return Number(Object(rows.at(-1))[number])
}

/** The number of the last row to look at after another one; undefined if no more are left than that. */
function lastToLookAt(db: Connection, { table, number }: Wanted, after: number): number | undefined {
  const find = `SELECT ${number} FROM ${table} WHERE ${number} > ? ORDER BY ${number} LIMIT 1 OFFSET ${LOOKED_AT - 1}`
  return statement<[number], number>(db, find).pluck().get(after)
}
