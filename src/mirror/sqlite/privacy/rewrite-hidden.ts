import { createHash } from 'node:crypto'
import type { HidableColumns, HiddenValues } from '../../../hidden-values.ts'
import type { Run } from '../../../run.ts'
import { TEXT_FIELDS } from '../../../customer.ts'
import type { Connection } from '../database.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'

/** How far the rewriting of an organization is: the rows of this table up to this one, and the tables before it, are done. */
export type Place = { table: string; row: number }

/** Rows rewritten in one transaction. */
const ROWS_AT_ONCE = 2000

type Rewriting = { hidden: HiddenValues; place: Place; nowMs: number }

/** Rewrites the next rows; the place after them, undefined when none is left. */
export function rewriteSome(db: Connection, run: Run, { hidden, place, nowMs }: Rewriting): Place | undefined {
  const at = TABLES.findIndex(({ name }) => name === place.table)
  const table = TABLES[at]
  if (table === undefined) return undefined
  const last = table.rewrite(db, run, { hidden, after: place.row, nowMs })
  if (last !== undefined) return { table: place.table, row: last }
  const next = TABLES[at + 1]
  return next === undefined ? undefined : { table: next.name, row: 0 }
}

type Step = { hidden: HiddenValues; after: number; nowMs: number }

/** Each function returns the number of the last row that it looked at; undefined if there was none. */
const TABLES = [
  { name: 'customers', rewrite: rewriteCustomers },
  { name: 'changes', rewrite: rewriteChanges },
  { name: 'rejects', rewrite: rewriteRejects },
  { name: 'runs', rewrite: rewriteErrors },
]

export const FIRST_TABLE = 'customers'

const HIDABLE = [...TEXT_FIELDS, 'extra'] as const

/** `last_run_id` moves as well: the row was written, and not by hand. */
function rewriteCustomers(db: Connection, run: Run, { hidden, after, nowMs }: Step): number | undefined {
  const rows = statement<[string, number], HidableColumns & { row_id: number }>(
    db,
    `SELECT row_id, ${HIDABLE.join(', ')} FROM customers
     WHERE +organization = ? AND row_id > ? ORDER BY row_id LIMIT ${ROWS_AT_ONCE}`,
  ).all(run.organization, after)
  // Only what may differ: SQLite writes the index of every column that is set.
  const set = [...hidden.columns, 'extra'].map((field) => `${field} = @${field}`).join(', ')
  const update = statement<[Record<string, unknown>], never>(
    db,
    `UPDATE customers SET ${set},
       updated_at = @updated_at, last_run_id = @run_id WHERE row_id = @row_id`,
  )
  for (const row of rows) {
    const rewritten = rewrittenCustomer(row, hidden)
    if (rewritten !== row) update.run({ ...rewritten, updated_at: updateStamp(db, nowMs), run_id: run.id })
  }
  return rows.at(-1)?.row_id
}

/** A value that is nested too deeply to be hashed is not kept. */
function rewrittenCustomer<Row extends HidableColumns>(row: Row, hidden: HiddenValues): Row {
  try {
    return hidden.customer(row)
  } catch (error) {
    if (error instanceof RangeError) return hidden.customer({ ...row, extra: null })
    throw error
  }
}

function rewriteChanges(db: Connection, run: Run, { hidden, after }: Step): number | undefined {
  const rows = statement<[string, number], { seq: number; fields: string }>(
    db,
    `SELECT seq, fields FROM changes
     WHERE +organization = ? AND seq > ? AND fields IS NOT NULL ORDER BY seq LIMIT ${ROWS_AT_ONCE}`,
  ).all(run.organization, after)
  const update = statement(db, 'UPDATE changes SET fields = ? WHERE seq = ?')
  for (const { seq, fields } of rows) {
    const rewritten = hidden.changedFields(fields)
    if (rewritten !== fields) update.run(rewritten, seq)
  }
  return rows.at(-1)?.seq
}

type RejectRow = { reject_id: number; record_id: string | null; record_key: string; payload: string }

/** The key of a record without an id is a digest of its payload, and so of the values that are hidden now. */
function rewriteRejects(db: Connection, run: Run, { hidden, after }: Step): number | undefined {
  const rows = statement<[string, number], RejectRow>(
    db,
    `SELECT reject_id, record_id, record_key, payload FROM rejects
     WHERE +organization = ? AND reject_id > ? ORDER BY reject_id LIMIT ${ROWS_AT_ONCE}`,
  ).all(run.organization, after)
  const update = statement(db, 'UPDATE OR REPLACE rejects SET payload = ?, record_key = ? WHERE reject_id = ?')
  for (const { reject_id, record_id, payload } of rows) {
    const rewritten = hidden.payload(payload)
    update.run(rewritten, record_id ?? createHash('sha256').update(rewritten).digest('hex'), reject_id)
  }
  return rows.at(-1)?.reject_id
}

/** What the service said about a refusal may repeat a value. */
const QUOTATION = / \((?:[\w.-]{1,60}: )?".*"\)/s

function rewriteErrors(db: Connection, run: Run, { after }: Step): number | undefined {
  const rows = statement<[string, number], { id: number; error: string }>(
    db,
    `SELECT id, error FROM runs
     WHERE +organization = ? AND id > ? AND error IS NOT NULL ORDER BY id LIMIT ${ROWS_AT_ONCE}`,
  ).all(run.organization, after)
  const update = statement(db, 'UPDATE runs SET error = ? WHERE id = ?')
  for (const { id, error } of rows) if (QUOTATION.test(error)) update.run(error.replace(QUOTATION, ''), id)
  return rows.at(-1)?.id
}
