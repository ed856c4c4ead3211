import type { HidableColumns, HiddenValues } from '../../../privacy/hidden-values.ts'
import type { Run } from '../../../run.ts'
import { rejectKey } from '../../../sorted-page.ts'
import { HIDABLE_COLUMNS, hiddenCustomer, placeAfter, withoutQuotation, type Place } from '../../hidden-rows.ts'
import type { Connection } from '../opening/database.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { nextRows } from './next-rows.ts'

type Rewriting = { hidden: HiddenValues; place: Place; nowMs: number }

/** Rewrites the next rows; the place after them, undefined when none is left. */
export function rewriteSome(db: Connection, run: Run, { hidden, place, nowMs }: Rewriting): Place | undefined {
  const rewrite = REWRITE[place.table]
  if (rewrite === undefined) return undefined
  return placeAfter(place, rewrite(db, run, { hidden, after: place.row, nowMs }))
}

type Step = { hidden: HiddenValues; after: number; nowMs: number }

/** Each function returns the number of the last row that it looked at; undefined if that was the last one of the table. */
const REWRITE: Partial<Record<string, (db: Connection, run: Run, step: Step) => number | undefined>> = {
  customers: rewriteCustomers,
  changes: rewriteChanges,
  rejects: rewriteRejects,
  runs: rewriteErrors,
}

/** `last_run_id` moves as well: the row was written, and not by hand. */
function rewriteCustomers(db: Connection, run: Run, { hidden, after, nowMs }: Step): number | undefined {
  const wanted = { table: 'customers', number: 'row_id', columns: HIDABLE_COLUMNS } as const
  const { rows, last } = nextRows<HidableColumns & { row_id: number }>(db, wanted, { ...run, after })
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
  return last
}

function rewriteChanges(db: Connection, run: Run, { hidden, after }: Step): number | undefined {
  // '{ }' says that the customer of then was deleted: history must not show that life with the values of a later one.
  const wanted = { table: 'changes', number: 'seq', columns: ['fields'], condition: "fields <> '{ }'" } as const
  const { rows, last } = nextRows<{ seq: number; fields: string }>(db, wanted, { ...run, after })
  const update = statement(db, 'UPDATE changes SET fields = ? WHERE seq = ?')
  for (const { seq, fields } of rows) {
    const rewritten = hidden.changedFields(fields)
    if (rewritten !== fields) update.run(rewritten, seq)
  }
  return last
}

type RejectRow = { reject_id: number; record_id: string | null; payload: string }

function rewriteRejects(db: Connection, run: Run, { hidden, after }: Step): number | undefined {
  const wanted = { table: 'rejects', number: 'reject_id', columns: ['record_id', 'payload'] } as const
  const { rows, last } = nextRows<RejectRow>(db, wanted, { ...run, after })
  const update = statement(db, 'UPDATE OR REPLACE rejects SET payload = ?, record_key = ? WHERE reject_id = ?')
  for (const { reject_id, record_id, payload } of rows) {
    const rewritten = hidden.payload(payload)
    update.run(rewritten, rejectKey(record_id, rewritten), reject_id)
  }
  return last
}

function rewriteErrors(db: Connection, run: Run, { after }: Step): number | undefined {
  const wanted = { table: 'runs', number: 'id', columns: ['error'], condition: 'error IS NOT NULL' } as const
  const { rows, last } = nextRows<{ id: number; error: string }>(db, wanted, { ...run, after })
  const update = statement(db, 'UPDATE runs SET error = ? WHERE id = ?')
  for (const { id, error } of rows) {
    const rewritten = withoutQuotation(error)
    if (rewritten !== error) update.run(rewritten, id)
  }
  return last
}
