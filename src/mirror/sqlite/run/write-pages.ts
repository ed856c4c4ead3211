import type { Run } from '../../../run.ts'
import type { Change, Known, PagesDecided, Stored, Update } from '../../pages/decide-pages.ts'
import { requireTaken } from '../../pages/rows-taken.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import type { Connection } from '../opening/database.ts'
import { insertCustomers, WRITTEN_FIELDS } from './insertion.ts'
import { saveReject } from './rejects.ts'
import { forgetAbsences } from '../removals/absences.ts'
import { release } from '../removals/removals.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { recordWindow } from './windows.ts'

/** Writes all that was decided about pages. `stored` is what the mirror held before. The caller holds the transaction. */
export function writePages(
  db: Connection,
  run: Run,
  { decided, stored }: { decided: PagesDecided; stored: Stored },
  nowMs: number,
): void {
  insertCustomers(db, run, decided.inserted, nowMs)
  for (const [rowId, update] of decided.updated)
    updateCustomer(db, run, { rowId, update, before: stored.customers.get(update.customer.id) }, nowMs)
  for (const change of decided.changes) recordChange(db, run, change, nowMs)
  for (const reject of decided.rejects.values()) saveReject(db, run, reject, nowMs)
  for (const { window, rows } of decided.windows.values()) recordWindow(db, run, window, rows)
  for (const rowId of decided.present) forgetAbsences(db, rowId)
  for (const rowId of decided.released) release(db, rowId)
  for (const rowId of decided.edited) noteEdited(db, run, rowId)
  saveRunCounts(db, run, decided)
}

type Updating = { rowId: number; update: Update; before: Known | undefined }

function updateCustomer(db: Connection, run: Run, updating: Updating, nowMs: number): void {
  const { customer, isChanged, isOwn } = updating.update
  const { changes } = statement<[Record<string, unknown>], never>(db, updateOf(updating)).run({
    ...customer,
    organization: run.organization,
    is_changed: isChanged ? 1 : 0,
    is_own: isOwn ? 1 : 0,
    now: sqlTime(nowMs),
    updated_at: updateStamp(db, nowMs),
    run_id: run.id,
    row_id: updating.rowId,
  })
  requireTaken(run, 'customers', { given: 1, taken: changes })
}

/** Columns with an index of their own. SQLite writes an index again for every column that is set, changed or not. */
const INDEXED_FIELDS: readonly string[] = ['email', 'language']

/** Sets every column that is in no index, and of the others only what changes. */
function updateOf({ update: { customer }, before }: Updating): string {
  const fields = WRITTEN_FIELDS.filter(
    (field) => !INDEXED_FIELDS.includes(field) || before?.customer[field] !== customer[field],
  )
  const isAbsent = before?.isMissing === true || before?.isRemoved === true
  return `UPDATE customers SET ${fields.map((field) => `${field} = @${field}`).join(', ')},
       ${isAbsent ? 'missing_since = NULL, removed_at = NULL, is_active = 1,' : ''} updated_at = @updated_at,
       changed_at = CASE @is_changed WHEN 1 THEN @now ELSE changed_at END,
       last_run_id = CASE @is_own WHEN 1 THEN @run_id ELSE last_run_id END
     WHERE row_id = @row_id AND organization = @organization`
}

/** Adds to the feed of changes. */
function recordChange(db: Connection, run: Run, { id, change, fields }: Change, nowMs: number): void {
  const { changes } = statement(
    db,
    'INSERT INTO changes (run_id, organization, id, change, fields, at) VALUES (?, ?, ?, ?, ?, ?)',
  ).run(run.id, run.organization, id, change, fields, sqlTime(nowMs))
  requireTaken(run, 'changes', { given: 1, taken: changes })
}

function noteEdited(db: Connection, run: Run, rowId: number): void {
  const note = statement(db, 'REPLACE INTO edited_customers (organization, row_id) VALUES (?, ?)')
  note.run(run.organization, rowId)
}

function saveRunCounts(db: Connection, run: Run, { saved }: PagesDecided): void {
  statement<[Record<string, unknown>], never>(
    db,
    `UPDATE runs SET pages = pages + @pages, received = received + @received, inserted = inserted + @inserted,
       updated = updated + @updated, unchanged = unchanged + @unchanged, duplicates = duplicates + @duplicates,
       rejected = rejected + @rejected, suppressed = suppressed + @suppressed, returned = returned + @returned,
       read_before = read_before - @writtenAgain
     WHERE id = @id`,
  ).run({ ...saved.records, pages: saved.pages.length, writtenAgain: saved.writtenAgain, id: run.id })
}
