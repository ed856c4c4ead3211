import type { Run } from '../../run.ts'
import type { PagesSaved } from '../../store.ts'
import type { SavedPage, SortedPage } from '../../sorted-page.ts'
import { addPage, countKnown, countSuppressed, nothingSaved, talliesOf } from '../page-accounting.ts'
import { savedPage, windowRows } from '../saved-page.ts'
import { noteEdited, saveCustomers, type Inserted } from './customers.ts'
import type { Connection } from './database.ts'
import { goByIdIndex, initialIdsOf } from './id-index.ts'
import { renewLease } from './lease.ts'
import { saveRejects } from './rejects.ts'
import { releaseListed } from './removals/removals.ts'
import { statement } from './statement.ts'
import { recordWindow } from './windows.ts'

/**
 * Each transaction writes the same pages of an index again, nearly all of them in an initial sync, since ids are random; and each page is
 * kept in memory until it is saved. Where there is no index of ids, few together are enough.
 */
export function pagesAtOnce(run: Run): number {
  return initialIdsOf(run) === undefined ? 64 : 16
}

/**
 * Saves whole pages. The caller holds the transaction, and adds the result to the run after the commit. Throws
 * AccountingBroken, so that the transaction is rolled back, when a page's records are not all accounted for.
 */
export function savePages(db: Connection, run: Run, pages: readonly SortedPage[], nowMs: number): PagesSaved {
  renewLease(db, run, nowMs)
  goByIdIndex(db, run)
  const saved = nothingSaved()
  const inserted: Inserted = new Map()
  for (const page of pages) saved.pages.push(savePage(db, run, page, { saved, inserted }, nowMs))
  releaseListed(db, run, saved.seen)
  saveRunCounts(db, run, saved)
  return saved
}

/** The results so far of pages that one transaction saves. */
type Saving = { saved: PagesSaved; inserted: Inserted }

function savePage(db: Connection, run: Run, page: SortedPage, { saved, inserted }: Saving, nowMs: number): SavedPage {
  const tallies = talliesOf(page, saved)
  saveRejects(db, run, page, tallies, nowMs)
  countSuppressed(run, page, tallies)
  countKnown(run, page.known, tallies, (rowId) => noteEdited(db, run, rowId))
  const result = savedPage(page, saveCustomers(db, run, page.customers, { ...tallies, inserted }, nowMs))
  addPage(saved, { organization: run.organization, page: page.page }, tallies)
  if (page.window !== undefined && !run.isQuick) recordWindow(db, run, page.window, windowRows(page, result))
  return result
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
