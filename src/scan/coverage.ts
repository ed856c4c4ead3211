import type { ReadWindow } from './window/read-window.ts'
import type { SeenIds } from './seen.ts'
import type { RowOrNumber } from './window/window.ts'

/**
 * Counts what the passes find. Passes are compared as long as the total stands still and the ids found do not exceed it;
 * otherwise the list has changed, a comparison would mislead, and counting restarts with the next pass.
 */
export class Coverage {
  readonly #seen: SeenIds
  /** The least and the greatest total; undefined once an answer has none. */
  #totals: Totals | undefined = NO_TOTALS
  /** Passes since counting began, including the current one. */
  #passes = 0
  #fresh = 0
  /** Answers in a row, in the first pass since counting began and with one total, that had no new id. */
  #barren = 0
  #latestTotal: number | undefined
  /** Whether windows from before an interruption are among those counted: between them and the others no total was seen. */
  #isResumed = false
  /** Windows added so far. */
  windows = 0
  /** How often counting was restarted. */
  restarts = 0
  /** Records without a readable id, in the whole scan. */
  rejected = 0

  constructor(seen: SeenIds) {
    this.#seen = seen
  }

  startPass(): void {
    const total = this.#steadyTotal
    if (total === undefined || this.distinct > total) this.#startAnew()
    this.#passes += 1
    this.#fresh = 0
  }

  add(read: ReadWindow): void {
    if (read.notFound) return
    this.#totals = widened(this.#totals, read.total)
    this.rejected += read.all.length - read.rows.length
    const fresh = read.keys.length - read.again.length
    this.#fresh += fresh
    this.#barren = fresh > 0 || read.total !== this.#latestTotal || !this.first ? 0 : this.#barren + 1
    this.#latestTotal = read.total
    this.windows += 1
  }

  /** True when the row was not seen since counting began. Call for each row of a window before adding the window. */
  see(row: RowOrNumber): boolean {
    return this.#seen.add(row)
  }

  get distinct(): number {
    return this.#seen.size
  }

  /** Whether the ids found are as many as the total, which never changed. Records without an id cannot be counted. */
  get agrees(): boolean {
    const total = this.#steadyTotal
    return total !== undefined && (this.rejected > 0 || this.distinct === total)
  }

  /** The windows added so far are from before an interruption. */
  resume(): void {
    this.#isResumed = this.windows > 0
  }

  /** Whether fewer ids were found than the total promises, however it changed: an answer may have left out a row. */
  get lacksRows(): boolean {
    return this.lacking > 0
  }

  /** How many fewer at least; 0 where that is not known. */
  get lacking(): number {
    if (this.#totals === undefined || this.#totals === NO_TOTALS || this.#isResumed || this.rejected > 0) return 0
    const { least, most } = this.#totals
    return Math.max(0, least - (most - least) - this.distinct)
  }

  /** Whether the list has many more rows by its total, which no changes explain. */
  get lacksMany(): boolean {
    return this.lacking > this.distinct * MANY_OF_ALL
  }

  /** Whether so many answers in a row had nothing but known rows, although many are lacking, that the service has no others to show. */
  get isBarren(): boolean {
    return this.#barren >= MOST_BARREN && this.lacksMany
  }

  /** Ids that no pass found before this one, since counting began. */
  get fresh(): number {
    return this.#fresh
  }

  /** Whether this pass is the first since counting began. */
  get first(): boolean {
    return this.#passes === 1
  }

  /** Whether a whole pass found no new id, and as many ids were found as the total states. */
  get converged(): boolean {
    return this.#passes > 1 && this.#fresh === 0 && this.agrees
  }

  /** The total, if it never changed: Infinity before the first one, undefined if it did change, or if an answer had none. */
  get #steadyTotal(): number | undefined {
    return this.#totals !== undefined && this.#totals.least >= this.#totals.most ? this.#totals.least : undefined
  }

  #startAnew(): void {
    this.#seen.clear()
    this.#totals = NO_TOTALS
    this.#isResumed = false
    this.#passes = 0
    this.restarts += 1
  }
}

/** The part of the list that no changes explain. */
const MANY_OF_ALL = 0.03
/** Far more than the repair of a gap, or the search for a record that breaks its page, needs. */
const MOST_BARREN = 200

type Totals = { readonly least: number; readonly most: number }

const NO_TOTALS: Totals = { least: Infinity, most: 0 }

function widened(totals: Totals | undefined, total: number | undefined): Totals | undefined {
  if (totals === undefined || total === undefined) return undefined
  return { least: Math.min(totals.least, total), most: Math.max(totals.most, total) }
}
