import type { Run } from '../../run.ts'
import type { PagesSaved } from '../../store.ts'
import { addWarnings } from '../../customer.ts'
import { AccountingBroken } from '../../errors.ts'
import { addRecords, addsUp, noRecords, type RecordCounts } from '../../report.ts'
import { RowSet } from '../../row-set.ts'
import type { SavedPage, SortedPage } from '../../sorted-page.ts'
import { countKnown, saveCustomers, type CustomersSaved, type Inserted } from './customers.ts'
import type { Connection } from './database.ts'
import { renewLease } from './lease.ts'
import { saveRejects } from './rejects.ts'
import { releaseListed } from './removals/removals.ts'
import { statement } from './statement.ts'
import { recordWindow, type WindowRows } from './windows.ts'

/**
 * Saves whole pages. The caller holds the transaction, and adds the result to the run after the commit. Throws
 * AccountingBroken, so that the transaction is rolled back, when a page's records are not all accounted for.
 */
export function savePages(db: Connection, run: Run, pages: readonly SortedPage[], nowMs: number): PagesSaved {
  renewLease(db, run, nowMs)
  const saved: PagesSaved = {
    pages: [],
    records: noRecords(),
    warnings: {},
    seen: new RowSet(),
    rejectedIds: new Set(),
    suppressed: new Set(),
    written: new RowSet(),
  }
  const saving = { ...saved, inserted: new Map() }
  for (const page of pages) saved.pages.push(savePage(db, run, page, saving, nowMs))
  releaseListed(db, run, saved.seen)
  saveRunCounts(db, run, saved)
  return saved
}

function savePage(db: Connection, run: Run, page: SortedPage, saved: Saving, nowMs: number): SavedPage {
  const counts = { ...noRecords(), received: page.received }
  const warnings = { ...page.warnings }
  const tallies = { ...saved, counts, warnings }
  saveRejects(db, run, page, tallies, nowMs)
  countSuppressed(run, page, tallies)
  countKnown(db, run, page.known, tallies)
  const saving = savedPage(page, saveCustomers(db, run, page.customers, tallies, nowMs))
  if (!addsUp(counts)) {
    throw new AccountingBroken(
      `${run.organization}, page ${page.page}: the numbers do not add up (${JSON.stringify(counts)}). ` +
        'The page was not saved. This is a defect of Customer Mirror; please report it.',
    )
  }
  if (page.window !== undefined && !run.isQuick) recordWindow(db, run, page.window, windowRows(page, saving))
  addRecords(saved.records, counts)
  addWarnings(saved.warnings, warnings)
  return saving
}

/** A forgotten customer is counted once, and is a duplicate from then on, like any other. */
function countSuppressed(
  run: Run,
  page: SortedPage,
  { counts, suppressed }: Pick<PagesSaved, 'suppressed'> & Counting,
): void {
  for (const { number } of page.suppressed) {
    if (run.suppressed.has(number) || suppressed.has(number)) counts.duplicates += 1
    else {
      suppressed.add(number)
      counts.suppressed += 1
    }
  }
}

type Counting = { counts: RecordCounts }

/** The results so far of pages that one transaction saves. */
type Saving = PagesSaved & { inserted: Inserted }

/** The row of each record in order, also of a reject whose customer is on the same page. */
function savedPage(
  { rows, rowIds: known, customers, places, rejects, suppressed }: SortedPage,
  saved: CustomersSaved,
): SavedPage {
  if (customers.length + rejects.length + suppressed.length === 0) return { rowIds: known, unchanged: NO_PLACES }
  const rowIds = Array.from(known)
  const unchanged = new Set<number>()
  // Without entries(): it makes two objects for each customer.
  places.forEach((place, index) => {
    rowIds[place] = saved.rowIds[index] ?? 0
    if (saved.unchanged.has(index)) unchanged.add(place)
  })
  for (const { position, number } of suppressed) rowIds[position] = -number
  if (rejects.length > 0) numberById(rows, rowIds)
  return { rowIds, unchanged }
}

const NO_PLACES: ReadonlySet<number> = new Set()

function numberById(rows: SortedPage['rows'], rowIds: number[]): void {
  const byId = new Map<string | undefined, number>()
  for (const [place, row] of rows.entries()) if (rowIds[place] !== 0) byId.set(row?.id, rowIds[place] ?? 0)
  for (const [place, row] of rows.entries()) rowIds[place] ||= (row?.id === undefined ? 0 : byId.get(row.id)) ?? 0
}

/** The row numbers of a page, or its place in the list as last read. */
function windowRows({ rows, rejects, known, listedAt }: SortedPage, { rowIds }: SavedPage): WindowRows {
  if (listedAt !== undefined) return { place: listedAt, count: known.length }
  if (rejects.length === 0) return { rowIds, rejected: [] }
  return { rowIds, rejected: rows.flatMap((row, place) => (rowIds[place] === 0 ? [row?.id ?? null] : [])) }
}

/** Adds the results of a committed transaction to the run's numbers. */
export function addSaved(run: Run, saved: PagesSaved): void {
  run.pages += saved.pages.length
  addRecords(run.records, saved.records)
  addWarnings(run.warnings, saved.warnings)
  run.seen.addAll(saved.seen)
  for (const id of saved.rejectedIds) run.rejectedIds.add(id)
  for (const number of saved.suppressed) run.suppressed.add(number)
  run.written.addAll(saved.written)
}

function saveRunCounts(db: Connection, run: Run, saved: PagesSaved): void {
  statement<[Record<string, unknown>], never>(
    db,
    `UPDATE runs SET pages = pages + @pages, received = received + @received, inserted = inserted + @inserted,
       updated = updated + @updated, unchanged = unchanged + @unchanged, duplicates = duplicates + @duplicates,
       rejected = rejected + @rejected, suppressed = suppressed + @suppressed, returned = returned + @returned
     WHERE id = @id`,
  ).run({ ...saved.records, pages: saved.pages.length, id: run.id })
}
