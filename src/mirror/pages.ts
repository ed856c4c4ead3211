import { addWarnings, type Customer, type Reject, type Row, type Warnings } from '../customer.ts'
import { AccountingBroken } from '../errors.ts'
import { addRecords, addsUp, noRecords, type RecordCounts } from '../report.ts'
import { saveCustomers } from './customers.ts'
import type { Connection } from './database.ts'
import { renewLease } from './lease.ts'
import { saveRejects } from './rejects.ts'
import { releaseListed } from './removals.ts'
import type { Run } from './runs.ts'
import { statement } from './statement.ts'
import { recordWindow, type RecordedRow, type RecordedWindow } from './windows.ts'

/** One page whose records were sorted: `received` records, each either a customer or a reject. */
export type SortedPage = {
  page: number
  received: number
  /** Who stood where in it. */
  rows: readonly Row[]
  /** The window it answers, when that is to be recorded for a later run to go on from. */
  window?: Omit<RecordedWindow, 'rows'> | undefined
  customers: readonly Customer[]
  rejects: readonly Reject[]
  warnings: Warnings
}

/** What became of the records of the pages saved. */
export type PagesSaved = {
  pages: number
  records: RecordCounts
  warnings: Warnings
  /** Rows of `customers` received for the first time in this run, and ids received in rejects for the first time. */
  seen: Set<number>
  rejectedIds: Set<string>
  /** Who stood where in each of the pages, with the row of each customer. */
  rows: RecordedRow[][]
}

/**
 * Saves whole pages. The caller holds the transaction, and adds what is returned to the run once that is committed. Throws
 * AccountingBroken, so that the transaction is rolled back, when a page's records are not all accounted for.
 */
export function savePages(db: Connection, run: Run, pages: readonly SortedPage[], nowMs: number): PagesSaved {
  renewLease(db, run, nowMs)
  const saved: PagesSaved = {
    pages: pages.length,
    records: noRecords(),
    warnings: {},
    seen: new Set(),
    rejectedIds: new Set(),
    rows: [],
  }
  for (const page of pages) {
    const counts = { ...noRecords(), received: page.received }
    saveRejects(db, run, page, { counts, rejectedIds: saved.rejectedIds }, nowMs)
    const rowIds = saveCustomers(db, run, page.customers, { ...saved, counts }, nowMs)
    const rows = page.rows.map((row) => ({ ...row, rowId: row.id === undefined ? undefined : rowIds.get(row.id) }))
    if (!addsUp(counts)) {
      throw new AccountingBroken(
        `${run.organization}, page ${page.page}: the numbers do not add up (${JSON.stringify(counts)}). ` +
          'The page was not saved. This is a defect of Customer Mirror; please report it.',
      )
    }
    if (page.window !== undefined) recordWindow(db, run, { ...page.window, rows })
    saved.rows.push(rows)
    addRecords(saved.records, counts)
    addWarnings(saved.warnings, page.warnings)
  }
  releaseListed(db, run, saved.seen)
  saveRunCounts(db, run, saved)
  return saved
}

/** Adds what a committed transaction saved to the run's own numbers. */
export function addSaved(run: Run, saved: PagesSaved): void {
  run.pages += saved.pages
  addRecords(run.records, saved.records)
  addWarnings(run.warnings, saved.warnings)
  for (const row of saved.seen) run.seen.add(row)
  for (const id of saved.rejectedIds) run.rejectedIds.add(id)
}

function saveRunCounts(db: Connection, run: Run, saved: PagesSaved): void {
  statement<[Record<string, unknown>], never>(
    db,
    `UPDATE runs SET pages = pages + @pages, received = received + @received, inserted = inserted + @inserted,
       updated = updated + @updated, unchanged = unchanged + @unchanged, duplicates = duplicates + @duplicates,
       rejected = rejected + @rejected, returned = returned + @returned
     WHERE id = @id`,
  ).run({ ...saved.records, pages: saved.pages, id: run.id })
}
