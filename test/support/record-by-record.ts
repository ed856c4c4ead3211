import { TEXT_FIELDS, type Customer } from '../../src/model/customer.ts'
import { noRecords, type RecordCounts } from '../../src/model/report.ts'
import type { Run } from '../../src/model/run.ts'
import type { SortedPage } from '../../src/model/page.ts'

/** A customer as the mirror holds it. */
export type Held = { rowId: number; customer: Customer; isMissing: boolean; isRemoved: boolean }

/** What becomes of pages: the numbers of records, the customers by id, the feed, and the rows that the next run compares. */
export type Outcome = {
  records: RecordCounts
  customers: Map<string, Held>
  changes: { id: string; change: string; fields: string | null }[]
  edited: Set<number>
}

const FIELDS = [...TEXT_FIELDS, 'extra'] as const

/** The rules of the README for each record, one after the other, told as plainly as they can be: a second telling, to compare with. */
export function recordByRecord(
  run: Pick<Run, 'isBaseline' | 'seen' | 'written' | 'rejectedIds' | 'suppressed'>,
  pages: readonly SortedPage[],
  { held, lastRowId }: { held: ReadonlyMap<string, Held>; lastRowId: number },
): Outcome {
  const records = noRecords()
  const customers = new Map(held)
  const changes: Outcome['changes'] = []
  const edited = new Set<number>()
  const seen = new Set<number>(run.seen)
  const written = new Set<number>(run.written)
  const rejected = new Set(run.rejectedIds)
  const suppressed = new Set(run.suppressed)
  let nextRow = lastRowId + 1
  for (const page of pages) {
    records.received += page.received
    for (const { recordId } of page.rejects) {
      if (recordId !== null && rejected.has(recordId)) {
        records.duplicates += 1
        continue
      }
      records.rejected += 1
      if (recordId === null) continue
      rejected.add(recordId)
      const known = customers.get(recordId)
      if (known === undefined || (!known.isMissing && !known.isRemoved)) continue
      if (known.isRemoved) {
        records.returned += 1
        changes.push({ id: recordId, change: 'returned', fields: null })
      } else edited.add(known.rowId)
      customers.set(recordId, { ...known, isMissing: false, isRemoved: false })
    }
    for (const { number } of page.suppressed) {
      records[suppressed.has(number) ? 'duplicates' : 'suppressed'] += 1
      suppressed.add(number)
    }
    for (const rowId of Array.from(page.known)) {
      records[seen.has(rowId) ? 'duplicates' : 'unchanged'] += 1
      if (seen.has(rowId) && written.has(rowId)) edited.add(rowId)
      seen.add(rowId)
    }
    for (const customer of page.customers) {
      const known = customers.get(customer.id)
      if (known === undefined) {
        records.inserted += 1
        customers.set(customer.id, { rowId: nextRow, customer, isMissing: false, isRemoved: false })
        if (!run.isBaseline) changes.push({ id: customer.id, change: 'added', fields: null })
        seen.add(nextRow)
        nextRow += 1
        continue
      }
      const { rowId, isMissing, isRemoved } = known
      const before = known.customer
      const differing = FIELDS.filter((field) => before[field] !== customer[field])
      if (seen.has(rowId)) {
        records.duplicates += 1
        if (differing.length > 0) edited.add(rowId)
        continue
      }
      seen.add(rowId)
      if (differing.length === 0 && !isMissing && !isRemoved) {
        records.unchanged += 1
        continue
      }
      records.updated += 1
      if (isRemoved) records.returned += 1
      written.add(rowId)
      customers.set(customer.id, { rowId, customer, isMissing: false, isRemoved: false })
      const fields = Object.fromEntries(differing.map((field) => [field, [before[field], customer[field]]]))
      const told = differing.length === 0 ? null : JSON.stringify(fields)
      if (isRemoved) changes.push({ id: customer.id, change: 'returned', fields: told })
      else if (told !== null && !run.isBaseline) changes.push({ id: customer.id, change: 'changed', fields: told })
    }
  }
  return { records, customers, changes, edited }
}
