import type { Run } from '../../../run.ts'
import type { PagesSaved } from '../../../store.ts'
import type { SortedPage } from '../../../sorted-page.ts'
import { decidePages, idsIn } from '../../pages/decide-pages.ts'
import type { Connection } from '../opening/database.ts'
import { goByIdIndex, initialIdsOf, rememberIds } from './id-index.ts'
import { renewLease } from './lease.ts'
import { findStored } from './stored-customers.ts'
import { writePages } from './write-pages.ts'

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
  const stored = findStored(db, run, idsIn(pages))
  const decided = decidePages(run, pages, stored)
  writePages(db, run, { decided, stored }, nowMs)
  rememberIds(run, decided.inserted)
  return decided.saved
}
