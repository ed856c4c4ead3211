import type { KnownPage } from '../list-memory.ts'
import type { Marks } from '../list-recorder.ts'
import type { Window } from '../../scan/window.ts'
import { sortRecords } from './sort-records.ts'
import type { Sorted, SortedPage } from '../../model/page.ts'
import type { CustomersPage } from '../../source/customers.ts'
import { outlineOf, readOutline, type Outline } from './outline.ts'
import { recognizeRecords, type Recognition } from './recognize.ts'

/** A page that was read and sorted, ready to be saved. Its records are dropped to save memory. */
export type ReadPage = {
  readonly sorted: SortedPage
  /** The known page, if its bytes are the same as before. */
  readonly known: KnownPage | undefined
  readonly outline: Outline
  /** The marks that identify its records next time; undefined if all must be read again. */
  readonly marks: Marks | undefined
  /** The digest that identifies the page next time; undefined if its records must be read again. */
  readonly digest: string | undefined
  /** The page size in effect. */
  readonly size: number
  readonly total: number | undefined
  readonly beyondEnd: boolean
  /** The error to report for a 404 if the list does not end there. */
  readonly refusal: CustomersPage['refusal']
  /** Releases the memory of its bytes; call it after the page is saved. */
  readonly release: CustomersPage['release']
}

/**
 * Sorts a page into customers and rejects, or recognizes it without parsing its records. Throws ContractBroken if its records cannot
 * be parsed.
 */
export function sortPage(page: CustomersPage, window: Window | undefined, recognition: Recognition): ReadPage {
  const { size, total, lastPage, beyondEnd, refusal, release } = page
  const digest = keyedDigest(page.digest, recognition)
  const known = pageThatFits(recognition.memory.pageOf(digest), size)
  const { sorted, received, outline, marks } = known === undefined ? sortNew(page, recognition) : takeKnown(known)
  const answered = window && { ...window, perPage: size, total, lastPage, beyondEnd }
  return {
    sorted: { ...sorted, page: page.page, received, listedAt: known?.window.place, window: answered },
    known,
    outline,
    marks,
    digest: sorted.rejects.length + sorted.suppressed.length === 0 ? digest : undefined,
    size,
    total,
    beyondEnd,
    refusal,
    release,
  }
}

/** Without the configured key, a stored digest does not show whether a guess at hidden values is right. */
function keyedDigest(digest: string | undefined, { privacy }: Recognition): string | undefined {
  return digest && (privacy?.policy.keyed('page', digest)?.toString('hex') ?? digest)
}

/** The known page, unless it is larger than allowed: then it is parsed, and refused like any other. */
function pageThatFits(known: KnownPage | undefined, size: number): KnownPage | undefined {
  return known === undefined || known.rowIds.length > size ? undefined : known
}

type SortedWithOutline = { sorted: Sorted; received: number; outline: Outline; marks?: Marks }

function takeKnown({ rowIds, warnings, window }: KnownPage): SortedWithOutline {
  const sorted = { known: rowIds, rowIds, customers: [], places: [], rejects: [], suppressed: [], warnings, rows: [] }
  return { sorted, received: rowIds.length, outline: readOutline(window.outline) }
}

function sortNew(page: CustomersPage, recognition: Recognition): SortedWithOutline {
  const cut = page.cut?.()
  const recognized = cut && recognizeRecords(cut, page.bytes, recognition)
  if (recognized !== undefined) {
    const { sorted, marks } = recognized
    return { sorted, received: sorted.rows.length, outline: outlineOf(recognized), marks }
  }
  const { privacy, forgotten } = recognition
  const sorted = sortRecords(page.records(), { pageBytes: page.bytes, hidden: privacy?.hidden, forgotten })
  return { sorted, received: sorted.rows.length, outline: outlineOf({ sorted }) }
}
