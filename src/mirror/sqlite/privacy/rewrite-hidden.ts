import type { HidableColumns, HiddenValues } from '../../../privacy/hidden-values.ts'
import type { Run } from '../../../run.ts'
import {
  HIDABLE_COLUMNS,
  hiddenCustomer,
  keyOfReject,
  placeAfter,
  REWRITTEN_AT_ONCE,
  withoutQuotation,
  type Place,
} from '../../hidden-rows.ts'
import type { Connection } from '../database.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'

type Rewriting = { hidden: HiddenValues; place: Place; nowMs: number }

/** Rewrites the next rows; the place after them, undefined when none is left. */
export function rewriteSome(db: Connection, run: Run, { hidden, place, nowMs }: Rewriting): Place | undefined {
  const rewrite = REWRITE[place.table]
  if (rewrite === undefined) return undefined
  return placeAfter(place, rewrite(db, run, { hidden, after: place.row, nowMs }))
}

type Step = { hidden: HiddenValues; after: number; nowMs: number }

/**
 * A step looks at so many rows at most: those of an organization may stand far from each other, among those of all the others, and nothing
 * else in this process goes on meanwhile.
 */
const LOOKED_AT = 20_000

/** Each function returns the number of the last row that it looked at; undefined if that was the last one of the table. */
const REWRITE: Partial<Record<string, (db: Connection, run: Run, step: Step) => number | undefined>> = {
  customers: rewriteCustomers,
  changes: rewriteChanges,
  rejects: rewriteRejects,
  runs: rewriteErrors,
}

/** `last_run_id` moves as well: the row was written, and not by hand. */
function rewriteCustomers(db: Connection, run: Run, { hidden, after, nowMs }: Step): number | undefined {
  const to = lastToLookAt(db, { table: 'customers', number: 'row_id' }, after)
  const rows = statement<[string, number, number], HidableColumns & { row_id: number }>(
    db,
    `SELECT row_id, ${HIDABLE_COLUMNS.join(', ')} FROM customers
     WHERE +organization = ? AND row_id > ? AND row_id <= ? ORDER BY row_id LIMIT ${REWRITTEN_AT_ONCE}`,
  ).all(run.organization, after, to ?? Number.MAX_SAFE_INTEGER)
  // Only what may differ: SQLite writes the index of every column that is set.
  const set = [...hidden.columns, 'extra'].map((field) => `${field} = @${field}`).join(', ')
  const update = statement<[Record<string, unknown>], never>(
    db,
    `UPDATE customers SET ${set},
       updated_at = @updated_at, last_run_id = @run_id WHERE row_id = @row_id`,
  )
  for (const row of rows) {
    const rewritten = hiddenCustomer(row, hidden)
    if (rewritten !== row) update.run({ ...rewritten, updated_at: updateStamp(db, nowMs), run_id: run.id })
  }
  return rows.length === REWRITTEN_AT_ONCE ? rows.at(-1)?.row_id : to
}

function rewriteChanges(db: Connection, run: Run, { hidden, after }: Step): number | undefined {
  // '{ }' says that the customer of then was deleted: history must not show that life with the values of a later one.
  const to = lastToLookAt(db, { table: 'changes', number: 'seq' }, after)
  const rows = statement<[string, number, number], { seq: number; fields: string }>(
    db,
    `SELECT seq, fields FROM changes
     WHERE +organization = ? AND seq > ? AND seq <= ? AND fields <> '{ }' ORDER BY seq LIMIT ${REWRITTEN_AT_ONCE}`,
  ).all(run.organization, after, to ?? Number.MAX_SAFE_INTEGER)
  const update = statement(db, 'UPDATE changes SET fields = ? WHERE seq = ?')
  for (const { seq, fields } of rows) {
    const rewritten = hidden.changedFields(fields)
    if (rewritten !== fields) update.run(rewritten, seq)
  }
  return rows.length === REWRITTEN_AT_ONCE ? rows.at(-1)?.seq : to
}

type RejectRow = { reject_id: number; record_id: string | null; record_key: string; payload: string }

function rewriteRejects(db: Connection, run: Run, { hidden, after }: Step): number | undefined {
  const to = lastToLookAt(db, { table: 'rejects', number: 'reject_id' }, after)
  const rows = statement<[string, number, number], RejectRow>(
    db,
    `SELECT reject_id, record_id, record_key, payload FROM rejects
     WHERE +organization = ? AND reject_id > ? AND reject_id <= ? ORDER BY reject_id LIMIT ${REWRITTEN_AT_ONCE}`,
  ).all(run.organization, after, to ?? Number.MAX_SAFE_INTEGER)
  const update = statement(db, 'UPDATE OR REPLACE rejects SET payload = ?, record_key = ? WHERE reject_id = ?')
  for (const { reject_id, record_id, payload } of rows) {
    const rewritten = hidden.payload(payload)
    update.run(rewritten, keyOfReject(record_id, rewritten), reject_id)
  }
  return rows.length === REWRITTEN_AT_ONCE ? rows.at(-1)?.reject_id : to
}

function rewriteErrors(db: Connection, run: Run, { after }: Step): number | undefined {
  const to = lastToLookAt(db, { table: 'runs', number: 'id' }, after)
  const rows = statement<[string, number, number], { id: number; error: string }>(
    db,
    `SELECT id, error FROM runs
     WHERE +organization = ? AND id > ? AND id <= ? AND error IS NOT NULL ORDER BY id LIMIT ${REWRITTEN_AT_ONCE}`,
  ).all(run.organization, after, to ?? Number.MAX_SAFE_INTEGER)
  const update = statement(db, 'UPDATE runs SET error = ? WHERE id = ?')
  for (const { id, error } of rows) {
    const rewritten = withoutQuotation(error)
    if (rewritten !== error) update.run(rewritten, id)
  }
  return rows.length === REWRITTEN_AT_ONCE ? rows.at(-1)?.id : to
}

/** The number of the last row to look at after another one; undefined if no more are left than that. */
function lastToLookAt(
  db: Connection,
  { table, number }: { table: string; number: string },
  after: number,
): number | undefined {
  const find = `SELECT ${number} FROM ${table} WHERE ${number} > ? ORDER BY ${number} LIMIT 1 OFFSET ${LOOKED_AT - 1}`
  return statement<[number], number>(db, find).pluck().get(after)
}
