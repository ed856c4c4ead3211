import type { Warnings } from '../customer.ts'
import { emptyColumns, UNKNOWN, type ListColumns } from '../list-as-read.ts'
import type { KnownPage } from './list-memory.ts'

/** What it takes to know a record again. */
export type Marked = {
  /** UNKNOWN where the record must be read again the next time. */
  readonly fingerprint: number
  readonly idFingerprint: number
  readonly warnings: Warnings | undefined
}

/** A window that was read: `columns` from `from` on hold its `count` records. */
export type RecordedWindow = {
  /** Position of its first record in the list. */
  readonly start: number
  readonly columns: ListColumns
  readonly from: number
  readonly count: number
  /** Undefined where the window must be read again the next time. */
  readonly digest: string | undefined
  readonly outline: string
}

/** Records share columns of this length: a typed array a window would cost more than its records. */
const SEGMENT = 8192
/** Kinds of oddities one byte can tell apart. */
const MOST_ODDITIES = 255

/** Collects the windows a run reads, some 20 bytes a record. */
export class ListRecorder {
  readonly #windows = new Map<string, RecordedWindow>()
  readonly #warnings: Warnings[]
  readonly #oddities: Map<string, number>
  #segment = emptyColumns(0)
  #used = 0

  /** Windows that come as known keep the numbers of their oddities, so those of the list they are known from stay. */
  constructor(warnings: readonly Warnings[] = [{}]) {
    this.#warnings = [...warnings]
    this.#oddities = new Map(this.#warnings.map((kind, number) => [JSON.stringify(kind), number]))
  }

  get windows(): Iterable<RecordedWindow> {
    return this.#windows.values()
  }

  get warnings(): readonly Warnings[] {
    return this.#warnings
  }

  /**
   * A window whose records were read: their row numbers, 0 for one without a customer, and the records in the same order; none
   * where only the rows are known. A window that is read again replaces what was recorded of it.
   */
  add(
    window: { start: number; size: number; digest: string | undefined; outline: string },
    rowIds: ArrayLike<number>,
    records: readonly Marked[],
  ): void {
    const count = rowIds.length
    const from = this.#room(count)
    const columns = this.#segment
    columns.rowIds.set(rowIds, from)
    for (let place = 0; place < records.length; place += 1) this.#mark(columns, from + place, records[place])
    const { start, size, digest, outline } = window
    this.#windows.set(`${start}/${size}`, { start, columns, from, count, digest, outline })
  }

  /** A window that came as it was known, with the columns of the list it is known from. */
  addKnown(window: { start: number; size: number }, { window: known }: KnownPage, columns: ListColumns): void {
    const { place: from, count, digest, outline } = known
    this.#windows.set(`${window.start}/${window.size}`, { start: window.start, columns, from, count, digest, outline })
  }

  #mark(columns: ListColumns, at: number, record: Marked | undefined): void {
    if (record === undefined) return
    const oddity = this.#oddityOf(record.warnings)
    columns.fingerprints[at] = oddity === undefined ? UNKNOWN : record.fingerprint
    columns.idFingerprints[at] = record.idFingerprint
    columns.oddities[at] = oddity ?? 0
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

  #oddityOf(warnings: Warnings | undefined): number | undefined {
    if (warnings === undefined) return 0
    const kind = JSON.stringify(warnings)
    const known = this.#oddities.get(kind)
    if (known !== undefined || this.#warnings.length > MOST_ODDITIES) return known
    const oddity = this.#warnings.push(warnings) - 1
    this.#oddities.set(kind, oddity)
    return oddity
  }
}
