import { addWarnings, type Warnings } from '../customer.ts'
import { AccountingBroken } from '../errors.ts'
import type { KnownPage, RememberedRow } from '../remembered-page.ts'
import { RowSet } from '../row-set.ts'
import { addRecords, addsUp, noRecords, type RecordCounts } from '../report.ts'
import type { Sorted, SortedRow } from '../sort-records.ts'
import { countRecalled, saveCustomers, type CustomersSaved } from './customers.ts'
import type { Connection } from './database.ts'
import { renewLease } from './lease.ts'
import { saveRejects } from './rejects.ts'
import { pageKey } from './pages-near.ts'
import { rememberPage } from './remembered-pages.ts'
import { releaseListed } from './removals.ts'
import type { Run } from './runs.ts'
import { statement } from './statement.ts'
import { recordWindow, type RecordedWindow } from './windows.ts'

/** One page whose records were sorted. */
export type SortedPage = Sorted & {
  page: number
  received: number
  /** The window it answers, when that is to be recorded for a later run to go on from. */
  window?: Omit<RecordedWindow, 'rows'> | undefined
  /** By what a later run knows it again, where it can; `isKnown` when this run did. */
  mark?: { size: number; digest: string; isKnown: boolean } | undefined
  /** How its rows compare, each with the next; undefined when it is not to be remembered. */
  neighbours?: KnownPage['neighbours'] | undefined
}

/** What became of the records of the pages saved. */
export type PagesSaved = {
  pages: number
  records: RecordCounts
  warnings: Warnings
  /** Rows of `customers` received for the first time in this run, and ids received in rejects for the first time. */
  seen: RowSet
  rejectedIds: Set<string>
  /** Rows of `customers` that were written again. */
  changed: Set<number>
  /** The pages that are remembered as they came. */
  kept: string[]
  /** Who stood where in each of the pages, with the row of each customer. */
  rows: Sorted['rows'][]
}

/**
 * Saves whole pages. The caller holds the transaction, and adds what is returned to the run once that is committed. Throws
 * AccountingBroken, so that the transaction is rolled back, when a page's records are not all accounted for.
 */
export function savePages(db: Connection, run: Run, pages: readonly SortedPage[], nowMs: number): PagesSaved {
  if (renewLease(db, run, nowMs).edits > 0) run.memory.pages = undefined
  const saved: PagesSaved = {
    pages: pages.length,
    records: noRecords(),
    warnings: {},
    seen: new RowSet(),
    rejectedIds: new Set(),
    changed: new Set(),
    kept: [],
    rows: [],
  }
  for (const page of pages) savePage(db, run, page, saved, nowMs)
  releaseListed(db, run, saved.seen)
  saveRunCounts(db, run, saved)
  return saved
}

function savePage(db: Connection, run: Run, page: SortedPage, saved: PagesSaved, nowMs: number): void {
  const counts = { ...noRecords(), received: page.received }
  const warnings = { ...page.warnings }
  const tallies = { ...saved, counts, warnings }
  saveRejects(db, run, page, tallies, nowMs)
  countRecalled(run, page.recalled, tallies)
  const { customers, window } = page
  // Where nothing stands between them, their places tell their positions.
  const isWhole = customers.length === page.rows.length
  const start = window !== undefined && isWhole ? window.perPage * (page.page - 1) : undefined
  const rows = numbered(page, saveCustomers(db, run, { customers, start }, tallies, nowMs))
  if (!addsUp(counts)) {
    throw new AccountingBroken(
      `${run.organization}, page ${page.page}: the numbers do not add up (${JSON.stringify(counts)}). ` +
        'The page was not saved. This is a defect of Customer Mirror; please report it.',
    )
  }
  const isKept = warnings.conflicting_duplicate === undefined && remember(db, run, page, rows, saved)
  if (page.window !== undefined) recordWindow(db, run, { ...page.window, rows }, { isRemembered: isKept })
  saved.rows.push(rows)
  addRecords(saved.records, counts)
  addWarnings(saved.warnings, warnings)
}

/** The rows of a page, each with the number of its customer, be it received in a record that had to be rejected. */
function numbered({ rows, rejects }: Sorted, { rowIds, unchanged }: CustomersSaved): Sorted['rows'] {
  const rejected = new Set(rejects.map(({ position }) => position))
  let place = 0
  if (rowIds.length > 0) {
    rows.forEach((row, position) => {
      if (typeof row === 'number' || row.rowId !== undefined || rejected.has(position)) return
      if (unchanged.has(place)) row.isKept = true
      row.rowId = rowIds[place++]
    })
  }
  if (rejects.length > 0) numberById(rows.filter((row) => typeof row === 'object'))
  return rows
}

function numberById(rows: readonly SortedRow[]): void {
  const rowIds = new Map<string, number>()
  for (const { id, rowId } of rows) if (id !== undefined && rowId !== undefined) rowIds.set(id, rowId)
  for (const row of rows) row.rowId ??= row.id === undefined ? undefined : rowIds.get(row.id)
}

/** Whether it is; a page with a reject in it is not, so that the reject is looked at every night. */
function remember(db: Connection, run: Run, page: SortedPage, rows: Sorted['rows'], saved: PagesSaved): boolean {
  const { mark, neighbours } = page
  if (mark === undefined || neighbours === undefined || page.rejects.length > 0) return false
  // Windows asked for at several sizes may be served alike, and each is to be recorded as it was when it was read.
  if (page.window !== undefined && page.window.size !== mark.size) return false
  const start = mark.size * (page.page - 1)
  // Who was recalled may have been edited since.
  if (page.recalled.length > 0 && run.memory.pages === undefined) return false
  if (!mark.isKnown) {
    if (!rows.every(isMemorable)) return false
    rememberPage(db, run.organization, { start, size: mark.size, digest: mark.digest, rows, neighbours })
  }
  saved.kept.push(pageKey(start, mark.size))
  return true
}

function isMemorable(row: SortedRow | number): row is SortedRow & RememberedRow {
  return typeof row === 'object' && row.rowId !== undefined && row.fingerprint !== undefined
}

/** Adds what a committed transaction saved to the run's own numbers. */
export function addSaved(run: Run, saved: PagesSaved): void {
  run.pages += saved.pages
  addRecords(run.records, saved.records)
  addWarnings(run.warnings, saved.warnings)
  run.seen.addAll(saved.seen)
  for (const id of saved.rejectedIds) run.rejectedIds.add(id)
  for (const row of saved.changed) run.memory.changed.add(row)
  for (const page of saved.kept) run.memory.kept.add(page)
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
