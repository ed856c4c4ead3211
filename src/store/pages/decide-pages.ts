import { emptyTally, type Run } from '../../model/run.ts'
import type { PagesSaved } from '../../model/mirror.ts'
import { addWarnings, type Customer, TEXT_FIELDS, type TextField, warn, type Warnings } from '../../model/customer.ts'
import type { Reject, SortedPage } from '../../model/page.ts'
import { AccountingBroken } from '../../errors/errors.ts'
import { RowSet } from '../../model/row-set.ts'
import { addRecords, addsUp, noRecords, type RecordCounts } from '../../model/report.ts'
import { isFilled } from '../../privacy/hidden-values.ts'
import { windowColumns } from '../runs/list-memory.ts'

export type Known = {
  readonly rowId: number
  readonly customer: Customer
  readonly isMissing: boolean
  readonly isRemoved: boolean
}

/** What the mirror holds before the pages are saved: the customers that they name, by id, and its highest row number. */
export type Stored = { readonly customers: ReadonlyMap<string, Known>; readonly lastRowId: number }

/** What to write so that the pages are saved. All rows are rows of `customers`, and no row is both inserted and updated. */
export type PagesDecided = Omit<Decision, 'addPage'>

type PlacedReject = Reject & { page: number }

/** `isChanged`: `changed_at` moves. `isOwn`: the run wrote the row, so `last_run_id` moves. */
type Update = { readonly customer: Customer; readonly isChanged: boolean; readonly isOwn: boolean }

/** An entry of the feed. `fields` is JSON: field → [before, after]. */
type Change = {
  readonly id: string
  readonly change: 'added' | 'changed' | 'returned'
  readonly fields: string | null
}

/**
 * Decides about every record of whole pages, in order, before anything is written. A customer that the run has already received is a
 * duplicate and keeps the first record, so that a list with one id twice does not change the mirror every night. One that the interrupted
 * run had read which this one continues is a duplicate too if it is as stored; otherwise the record received now is the newer one. Throws
 * AccountingBroken when a page's records are not all accounted for. Changes neither the run nor what is stored.
 */
export function decidePages(run: Run, pages: readonly SortedPage[], stored: Stored): PagesDecided {
  const decision = new Decision(run, stored)
  for (const page of pages) decision.addPage(page)
  return decision
}

/** The ids of the customers to be looked up before the pages are decided about. */
export function idsIn(pages: readonly SortedPage[]): Set<string> {
  const ids = new Set<string>()
  for (const { customers, rejects } of pages) {
    for (const { id } of customers) ids.add(id)
    for (const { recordId } of rejects) if (recordId !== null) ids.add(recordId)
  }
  return ids
}

type Tallies = { counts: RecordCounts; warnings: Warnings }

/** Grows page by page: `#now` is the mirror as it will be when what was decided until now is written. */
class Decision {
  readonly saved: PagesSaved = { ...emptyTally(), pages: [], writtenAgain: 0 }
  readonly inserted: { rowId: number; customer: Customer }[] = []
  /** By row. Each of them is listed again, if it was not. */
  readonly updated = new Map<number, Update>()
  readonly changes: Change[] = []
  /** By key; an open one from before is replaced. */
  readonly rejects = new Map<string, PlacedReject>()
  /** By start and size; one from before is replaced. */
  readonly windows = new Map<string, ReturnType<typeof windowColumns>>()
  /** Rows whose absences are counted from 0 again, and whose removal is no longer held back. */
  readonly listed = new Set<number>()
  /** Rows that the next run compares field by field. */
  readonly edited = new Set<number>()
  readonly #run: Run
  readonly #now: Map<string, Known>
  #lastRowId: number

  constructor(run: Run, { customers, lastRowId }: Stored) {
    this.#run = run
    this.#now = new Map(customers)
    this.#lastRowId = lastRowId
  }

  addPage(page: SortedPage): void {
    const run = this.#run
    const counts = { ...noRecords(), received: page.rowIds.length }
    const tallies: Tallies = { counts, warnings: { ...page.warnings } }
    for (const reject of page.rejects) this.#addReject({ ...reject, page: page.page }, tallies)
    for (const { number } of page.suppressed) this.#addSuppressed(number, tallies)
    this.#addUnchanged(page.rowIds, tallies)
    const rowIds = this.#addCustomers(page, tallies)
    if (!addsUp(counts))
      throw new AccountingBroken(
        `${run.organization}, page ${page.page}: the numbers do not add up (${JSON.stringify(counts)}). ` +
          'The page was not saved. This is a defect of Customer Mirror; please report it.',
      )
    addRecords(this.saved.records, counts)
    addWarnings(this.saved.warnings, tallies.warnings)
    this.saved.pages.push(rowIds)
    const { window, rows, rejects } = page
    if (window === undefined || run.isPartial) return
    const rejected = rejects.length === 0 ? [] : rows.flatMap((row, at) => (rowIds[at] === 0 ? [row?.id ?? null] : []))
    this.windows.set(`${window.page} ${window.size}`, windowColumns(window, rowIds, rejected))
  }

  /** A reject with a readable id counts as seen, so that its customer does not become missing. */
  #addReject(reject: PlacedReject, { counts }: Tallies): void {
    const { recordId } = reject
    const { rejectedIds } = this.saved
    if (recordId !== null && (this.#run.rejectedIds.has(recordId) || rejectedIds.has(recordId))) {
      counts.duplicates += 1
      return
    }
    if (recordId !== null) {
      rejectedIds.add(recordId)
      const known = this.#now.get(recordId)
      if (known !== undefined) this.#markListed(known, counts)
    }
    counts.rejected += 1
    this.rejects.set(reject.key, reject)
  }

  /** The customer of a reject is listed, with its last good values. One that had been removed returns. */
  #markListed(known: Known, counts: Tallies['counts']): void {
    const { rowId, customer, isMissing, isRemoved } = known
    if (isRemoved) {
      counts.returned += 1
      this.#update(known, { customer, isChanged: false, isOwn: true })
      this.changes.push({ id: customer.id, change: 'returned', fields: null })
      return
    }
    if (isMissing) {
      this.#update(known, { customer, isChanged: false, isOwn: false })
      this.edited.add(rowId)
    }
    if (isMissing || this.#run.heldRows.has(rowId)) this.listed.add(rowId)
  }

  /** A forgotten customer is counted once, and is a duplicate from then on, like any other. */
  #addSuppressed(number: number, { counts }: Tallies): void {
    if (this.#run.suppressed.has(number) || this.saved.suppressed.has(number)) counts.duplicates += 1
    else {
      this.saved.suppressed.add(number)
      counts.suppressed += 1
    }
  }

  /** Customers that are stored unchanged. If this run has saved another record of the same customer, that is a conflicting duplicate. */
  #addUnchanged(rowIds: ArrayLike<number>, { counts, warnings }: Tallies): void {
    const { seen, receivedSince, written } = this.#run
    for (let place = 0; place < rowIds.length; place += 1) {
      const rowId = rowIds[place] ?? 0
      if (rowId === 0) continue
      const isFirst = !receivedSince.has(rowId) && this.saved.seen.add(rowId)
      if (isFirst && !seen.has(rowId)) {
        counts.unchanged += 1
      } else {
        counts.duplicates += 1
        if (!written.has(rowId) && !this.saved.written.has(rowId) && !this.#isEmptied(rowId)) continue
        warn(warnings, 'conflicting_duplicate')
        this.edited.add(rowId)
      }
    }
  }

  /** The row of each record in order, also of a reject whose customer is on the same page. */
  #addCustomers(page: SortedPage, tallies: Tallies): ArrayLike<number> {
    const { rows, customers, places, rejects, suppressed } = page
    if (customers.length + rejects.length + suppressed.length === 0) return page.rowIds
    const rowIds = Array.from(page.rowIds)
    // Without entries(): it makes two objects for each customer.
    places.forEach((place, index) => {
      const received = customers[index]
      if (received === undefined) return
      const known = this.#now.get(received.id)
      rowIds[place] = known?.rowId ?? this.#insert(received, tallies)
      if (known !== undefined) this.#addKnown(known, received, tallies)
    })
    for (const { position, number } of suppressed) rowIds[position] = -number
    if (rejects.length > 0) numberById(rows, rowIds)
    return rowIds
  }

  #insert(customer: Customer, { counts }: Tallies): number {
    const rowId = (this.#lastRowId += 1)
    this.inserted.push({ rowId, customer })
    this.#now.set(customer.id, { rowId, customer, isMissing: false, isRemoved: false })
    if (!this.#run.isBaseline) this.changes.push({ id: customer.id, change: 'added', fields: null })
    this.saved.seen.add(rowId)
    counts.inserted += 1
    return rowId
  }

  #isEmptied(rowId: number, fields: readonly TextField[] = TEXT_FIELDS): boolean {
    return [this.#run, this.saved].some(({ emptied }) => fields.some((field) => emptied.get(field)?.has(rowId)))
  }

  /** The customer with the stored values of fields that came empty: whether they are, is decided when the run has seen every customer. */
  #keepEmptied({ rowId, customer: before }: Known, received: Customer): Customer {
    const isFirst = !this.#run.receivedSince.has(rowId) && !this.saved.seen.has(rowId)
    // The same record received again must compare equal.
    const isKept = (field: TextField) =>
      before[field] !== null && received[field] === null && (isFirst || this.#isEmptied(rowId, [field]))
    const emptied = TEXT_FIELDS.filter(isKept)
    if (emptied.length === 0) return received
    const kept = { ...received }
    for (const field of emptied) {
      emptiedIn(this.saved.emptied, field).add(rowId)
      kept[field] = before[field]
      if (field === 'created_at') kept.created_at_utc = before.created_at_utc
    }
    this.edited.add(rowId)
    return kept
  }

  #countGained({ extra: before }: Customer, { extra: after }: Customer): void {
    if (after === null) return
    const known: object = JSON.parse(before ?? '{}')
    for (const field of Object.keys(JSON.parse(after))) {
      if (!Object.hasOwn(known, field)) countGained(this.saved.gained, field, 1)
    }
  }

  #addKnown(known: Known, received: Customer, { counts, warnings }: Tallies): void {
    const { rowId, isMissing, isRemoved } = known
    const customer = this.#keepEmptied(known, received)
    const differing = COMPARED_FIELDS.filter((field) => known.customer[field] !== customer[field])
    const isFirst = !this.#run.receivedSince.has(rowId) && this.saved.seen.add(rowId)
    const isAsStored = differing.length === 0 && !isMissing && !isRemoved
    if (!isFirst || (isAsStored && this.#run.seen.has(rowId))) {
      counts.duplicates += 1
      if (differing.length === 0 && !(customer === received && this.#isEmptied(rowId))) return
      // The first record is stored, but the list may keep the other one: the next run compares the customer.
      warn(warnings, 'conflicting_duplicate')
      this.edited.add(rowId)
    } else if (isAsStored) {
      counts.unchanged += 1
      if (customer !== received) this.saved.unwritten.add(rowId)
    } else {
      counts.updated += 1
      if (differing.includes('extra')) this.#countGained(known.customer, customer)
      if (this.#run.seen.has(rowId)) this.saved.writtenAgain += 1
      if (isRemoved) counts.returned += 1
      this.saved.written.add(rowId)
      this.#change(known, customer, differing)
    }
  }

  /** `differing` may be empty, if the customer was not listed. */
  #change(known: Known, customer: Customer, differing: readonly ComparedField[]): void {
    const { rowId, isMissing, isRemoved } = known
    const before = known.customer
    // A value that was hidden otherwise before is filled in: the customer itself has not changed in it.
    const unfilled = this.#run.privacy?.unfilled ?? []
    const recorded = differing.filter((field) => unfilled.length === 0 || !isFilled(field, before, customer, unfilled))
    const isChanged = recorded.length > 0
    const values = recorded.map((field) => [field, [before[field], customer[field]]])
    // Written twice by this run: for the store, that looks like an edit.
    if (this.updated.has(rowId)) this.edited.add(rowId)
    this.#update(known, { customer, isChanged, isOwn: true })
    if (isMissing) this.listed.add(rowId)
    const fields = isChanged ? JSON.stringify(Object.fromEntries(values)) : null
    if (isRemoved) this.changes.push({ id: customer.id, change: 'returned', fields })
    else if (isChanged && !this.#run.isBaseline) this.changes.push({ id: customer.id, change: 'changed', fields })
  }

  #update({ rowId }: Known, update: Update): void {
    this.updated.set(rowId, update)
    this.#now.set(update.customer.id, { rowId, customer: update.customer, isMissing: false, isRemoved: false })
  }
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
  for (const [field, rows] of saved.emptied) emptiedIn(run.emptied, field).addAll(rows)
  run.unwritten.addAll(saved.unwritten)
  for (const [field, customers] of saved.gained) countGained(run.gained, field, customers)
}

function emptiedIn(emptied: Run['emptied'], field: TextField): RowSet {
  const rows = emptied.get(field) ?? new RowSet()
  emptied.set(field, rows)
  return rows
}

/** A service may send other fields with each record: only so many are counted. */
const MOST_GAINED = 100

function countGained(gained: Map<string, number>, field: string, customers: number): void {
  if (gained.size < MOST_GAINED || gained.has(field)) gained.set(field, (gained.get(field) ?? 0) + customers)
}

/** The fields that show whether a customer changed. */
const COMPARED_FIELDS = [...TEXT_FIELDS, 'extra'] as const

/** All that is stored of a record; `created_at_utc` follows from `created_at`. */
export const FIELDS = [...COMPARED_FIELDS, 'created_at_utc'] as const
type ComparedField = (typeof COMPARED_FIELDS)[number]

function numberById(rows: SortedPage['rows'], rowIds: number[]): void {
  const byId = new Map<string | undefined, number>()
  for (const [place, row] of rows.entries()) if (rowIds[place] !== 0) byId.set(row?.id, rowIds[place] ?? 0)
  for (const [place, row] of rows.entries()) rowIds[place] ||= (row?.id === undefined ? 0 : byId.get(row.id)) ?? 0
}
