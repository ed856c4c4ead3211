import type { Run } from '../../run.ts'
import type { PagesSaved } from '../../store.ts'
import { addWarnings, warn, type Warnings } from '../../customer.ts'
import { AccountingBroken } from '../../errors/errors.ts'
import { addRecords, addsUp, noRecords, type RecordCounts } from '../../report.ts'
import { RowSet } from '../../list/row-set.ts'
import type { SortedPage } from '../../sorted-page.ts'

/** The results of one page, beside those of the pages that one transaction saves. */
export type Tallies = Pick<PagesSaved, 'seen' | 'rejectedIds' | 'suppressed' | 'written'> & {
  counts: RecordCounts
  warnings: Warnings
}

/** The results of no pages. */
export function nothingSaved(): PagesSaved {
  return {
    pages: [],
    records: noRecords(),
    warnings: {},
    seen: new RowSet(),
    rejectedIds: new Set(),
    suppressed: new Set(),
    written: new RowSet(),
    writtenAgain: 0,
  }
}

/** The tallies of a page that no record was counted of. */
export function talliesOf({ received, warnings }: SortedPage, saved: PagesSaved): Tallies {
  const { seen, rejectedIds, suppressed, written } = saved
  return { seen, rejectedIds, suppressed, written, counts: { ...noRecords(), received }, warnings: { ...warnings } }
}

/** A forgotten customer is counted once, and is a duplicate from then on, like any other. */
export function countSuppressed(
  run: Pick<Run, 'suppressed'>,
  page: Pick<SortedPage, 'suppressed'>,
  { counts, suppressed }: Pick<Tallies, 'counts' | 'suppressed'>,
): void {
  for (const { number } of page.suppressed) {
    if (run.suppressed.has(number) || suppressed.has(number)) counts.duplicates += 1
    else {
      suppressed.add(number)
      counts.suppressed += 1
    }
  }
}

/**
 * Counts customers that are stored unchanged. If this run has saved another record of the same customer, that is a conflicting
 * duplicate, and `edited` is called with its row.
 */
export function countKnown(
  run: Pick<Run, 'seen' | 'receivedSince' | 'written'>,
  rowIds: ArrayLike<number>,
  { counts, warnings, seen, written }: Tallies,
  edited: (rowId: number) => void,
): void {
  for (let place = 0; place < rowIds.length; place += 1) {
    const rowId = rowIds[place] ?? 0
    const isFirst = !run.receivedSince.has(rowId) && seen.add(rowId)
    if (isFirst && !run.seen.has(rowId)) {
      counts.unchanged += 1
    } else {
      counts.duplicates += 1
      if (run.written.has(rowId) || written.has(rowId)) {
        warn(warnings, 'conflicting_duplicate')
        edited(rowId)
      }
    }
  }
}

/** Adds a page to the results. Throws AccountingBroken if its records are not all accounted for. */
export function addPage(
  saved: PagesSaved,
  { organization, page }: { organization: string; page: number },
  { counts, warnings }: Pick<Tallies, 'counts' | 'warnings'>,
): void {
  if (!addsUp(counts)) {
    throw new AccountingBroken(
      `${organization}, page ${page}: the numbers do not add up (${JSON.stringify(counts)}). ` +
        'The page was not saved. This is a defect of Customer Mirror; please report it.',
    )
  }
  addRecords(saved.records, counts)
  addWarnings(saved.warnings, warnings)
}

/** Adds the results of a committed transaction to the run's numbers. */
export function addSaved(run: Run, saved: PagesSaved): void {
  run.pages += saved.pages.length
  addRecords(run.records, saved.records)
  addWarnings(run.warnings, saved.warnings)
  run.seen.addAll(saved.seen)
  run.receivedSince.addAll(saved.seen)
  for (const id of saved.rejectedIds) run.rejectedIds.add(id)
  for (const number of saved.suppressed) run.suppressed.add(number)
  run.written.addAll(saved.written)
  run.readBefore -= saved.writtenAgain
}

/** Throws AccountingBroken unless the numbers of a run add up, as stored and as counted. */
export function requireSum(
  { organization, id, records }: Pick<Run, 'organization' | 'id' | 'records'>,
  stored: RecordCounts | undefined,
): void {
  if (stored !== undefined && addsUp(stored) && addsUp(records)) return
  throw new AccountingBroken(
    `${organization}: the numbers of run ${id} do not add up. What it saved is kept, but it does not count as ` +
      'complete. This is a defect of Customer Mirror; please report it.',
  )
}

/** Throws AccountingBroken unless a table took every row that it was given, so that the transaction is rolled back. */
export function requireTaken(
  { organization }: { organization: string },
  table: string,
  { given, taken }: { given: number; taken: number },
): void {
  if (taken !== given) throw notTaken(organization, table, { given, taken })
}

/** Something in the mirror itself changes what a statement writes: a trigger, or in PostgreSQL also a rule or a policy. */
export function notTaken(
  organization: string,
  table: string,
  { given, taken }: { given: number; taken: number },
): AccountingBroken {
  return new AccountingBroken(
    `${organization}: ${taken} of ${given} rows could be written or deleted in table ${table}. Nothing of this step was kept. Look for a ` +
      `trigger, a rule or a policy that someone added to ${table}, drop it, then try again.`,
  )
}
