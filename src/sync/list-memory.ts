import { addWarnings, type Warnings } from '../model/customer.ts'
import { UNKNOWN, type ListAsRead, type ListColumns, type ListedWindow } from '../model/list-as-read.ts'
import { PlaceIndex } from './place-index.ts'

/** Rows of customers, by their number in the mirror. */
export type RowNumbers = { has(rowId: number): boolean; readonly size: number }

/** A page whose bytes are known: its records need not be parsed. */
export type KnownPage = {
  readonly window: ListedWindow
  /** The row number of each record. */
  readonly rowIds: Uint32Array
  /** The warnings of its records. */
  readonly warnings: Warnings
}

/**
 * The list as the last complete run read it. It answers which customers a page or a record is known to be, without asking
 * the mirror. Why the answer can be trusted: the list holds the fingerprint of a record only if that run found the customer
 * stored as that record; customers written since, by a run or by hand, are `doubted`; so the same bytes, or the same
 * fingerprint with the same id, mean that the customer is stored as received.
 */
export class ListMemory {
  readonly #list: ListAsRead
  readonly #doubted: RowNumbers
  /** Customers this run has written; grows while the run lasts. */
  readonly #written: RowNumbers
  /** Made when a record is first looked for: a night at rest knows every page by its bytes. */
  #index: PlaceIndex | undefined
  readonly #windows: ReadonlyMap<string, ListedWindow>

  constructor(list: ListAsRead, doubts: { doubted: RowNumbers; written: RowNumbers }) {
    this.#list = list
    this.#doubted = doubts.doubted
    this.#written = doubts.written
    this.#windows = new Map(list.windows.map((window) => [window.digest, window]))
  }

  /** The page whose records have this digest; undefined when it is new, or a customer on it may have changed since. */
  pageOf(digest: string | undefined): KnownPage | undefined {
    const window = digest === undefined ? undefined : this.#windows.get(digest)
    if (window === undefined) return undefined
    const { place, count } = window
    const rowIds = this.#list.columns.rowIds.subarray(place, place + count)
    if (this.#doubted.size + this.#written.size > 0 && !rowIds.every((rowId) => this.isCertain(rowId))) return undefined
    return { window, rowIds, warnings: this.#warningsOf(window) }
  }

  /**
   * The place of the customer with this record, or -1: the fingerprints of the record and of its id must both agree. Records are mostly
   * in the same order as before, so `likely` is checked first.
   */
  placeOf(fingerprint: number, idFingerprint: number, likely = -1): number {
    if (fingerprint === UNKNOWN) return -1
    const { fingerprints, idFingerprints, rowIds } = this.#list.columns
    const place = fingerprints[likely] === fingerprint ? likely : this.#find(fingerprint)
    if (place < 0 || idFingerprints[place] !== idFingerprint) return -1
    return this.isCertain(rowIds[place] ?? 0) ? place : -1
  }

  #find(fingerprint: number): number {
    this.#index ??= PlaceIndex.over(this.#list.columns.fingerprints)
    return this.#index.find(fingerprint)
  }

  /** The warnings of the record at a place. */
  oddityAt(place: number): Warnings | undefined {
    const oddity = this.#list.columns.oddities[place] ?? 0
    return oddity === 0 ? undefined : this.#list.warnings[oddity]
  }

  get columns(): ListColumns {
    return this.#list.columns
  }

  /** Whether a customer is still stored as the list says. */
  isCertain(rowId: number): boolean {
    return !this.#doubted.has(rowId) && !this.#written.has(rowId)
  }

  #warningsOf({ place, count }: ListedWindow): Warnings {
    const warnings: Warnings = {}
    if (this.#list.warnings.length === 1) return warnings
    for (let at = place; at < place + count; at += 1) addWarnings(warnings, this.oddityAt(at) ?? {})
    return warnings
  }
}
