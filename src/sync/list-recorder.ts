import type { Warnings } from '../model/customer.ts'
import { emptyColumns, UNKNOWN, type ListColumns } from '../model/list-as-read.ts'
import type { KnownPage } from './list-memory.ts'

/** The data that identifies the records of a window next time: entry `n` of each column belongs to record `n`. */
export type Marks = Pick<ListColumns, 'fingerprints' | 'idFingerprints' | 'comparisons' | 'oddities'> & {
  /** The warnings of new records; `oddities` has those of known ones. */
  readonly warnings: ReadonlyMap<number, Warnings>
}

/** A window that was read: its `count` records are in `columns`, from `from` on. */
export type RememberedWindow = {
  /** Position of its first record in the list. */
  readonly start: number
  readonly columns: ListColumns
  readonly from: number
  readonly count: number
  /** Undefined if the window must be read again next time. */
  readonly digest: string | undefined
  readonly outline: string
}

/** Records share columns of this length: a typed array a window would cost more than its records. */
const SEGMENT = 8192
/** The most kinds of warnings that fit into one byte. */
const MOST_ODDITIES = 255

/** Collects the windows a run reads, some 20 bytes a record. */
export class ListRecorder {
  readonly #windows = new Map<string, RememberedWindow>()
  readonly #warnings: Warnings[]
  readonly #oddities: Map<string, number>
  #segment = emptyColumns(0)
  #used = 0

  /** Known windows keep the numbers of their oddities, so the kinds of the list before stay. */
  constructor(warnings: readonly Warnings[] = [{}]) {
    this.#warnings = [...warnings]
    this.#oddities = new Map(this.#warnings.map((kind, number) => [JSON.stringify(kind), number]))
  }

  get windows(): Iterable<RememberedWindow> {
    return this.#windows.values()
  }

  get warnings(): readonly Warnings[] {
    return this.#warnings
  }

  /**
   * A window whose records were read: their row numbers, 0 for one without a customer, and what it takes to know them again,
   * where that is known. A window that is read again replaces what was recorded of it.
   */
  add(
    window: { start: number; size: number; digest: string | undefined; outline: string },
    rowIds: ArrayLike<number>,
    marks?: Marks,
  ): void {
    const count = rowIds.length
    const from = this.#room(count)
    const columns = this.#segment
    columns.rowIds.set(rowIds, from)
    if (marks !== undefined) this.#mark(columns, from, marks)
    const { start, size, digest, outline } = window
    this.#windows.set(`${start}/${size}`, { start, columns, from, count, digest, outline })
  }

  /** Adds a known window, with the columns of its list. */
  addKnown(window: { start: number; size: number }, { window: known }: KnownPage, columns: ListColumns): void {
    const { place: from, count, digest, outline } = known
    this.#windows.set(`${window.start}/${window.size}`, { start: window.start, columns, from, count, digest, outline })
  }

  #mark(columns: ListColumns, from: number, marks: Marks): void {
    columns.fingerprints.set(marks.fingerprints, from)
    columns.idFingerprints.set(marks.idFingerprints, from)
    columns.comparisons.set(marks.comparisons, from)
    columns.oddities.set(marks.oddities, from)
    for (const [place, warnings] of marks.warnings) {
      const oddity = this.#oddityOf(warnings)
      columns.oddities[from + place] = oddity ?? 0
      if (oddity === undefined) columns.fingerprints[from + place] = UNKNOWN
    }
  }

  #room(count: number): number {
    if (this.#used + count > this.#segment.rowIds.length) {
      this.#segment = emptyColumns(Math.max(SEGMENT, count))
      this.#used = 0
    }
    const from = this.#used
    this.#used += count
    return from
  }

  #oddityOf(warnings: Warnings): number | undefined {
    const kind = JSON.stringify(warnings)
    const known = this.#oddities.get(kind)
    if (known !== undefined || this.#warnings.length > MOST_ODDITIES) return known
    const oddity = this.#warnings.push(warnings) - 1
    this.#oddities.set(kind, oddity)
    return oddity
  }
}
