import type { OrderFacts } from '../list/order-facts.ts'
import type { ReadWindow } from './window/read-window.ts'
import { type RememberedList, RememberedOrder } from './proof/remembered-order.ts'
import type { Reason } from './reasons.ts'
import { keyOf, type RowKey, type Window } from './window/window.ts'
import { SMALLEST_PAGE, type Witness, Witnesses } from './proof/witness.ts'
import type { Overlap } from './window/overlap.ts'
import { USUAL_OVERLAP } from './plan/planner.ts'

/** A service that answers more pages than this wrongly cannot be read around. */
const MOST_AVOIDED = 8

/** What a scan has learned so far; all its passes share it. */
export class Findings {
  /** The largest page the service serves. */
  pageSize: number
  /** The total of the answer that came last; 0 before the first. */
  total = 0
  /** The greatest total of all answers. */
  greatestTotal = 0
  /** The last row of the window that reached the end of the list last; undefined before one did. */
  lastKey: RowKey | undefined
  readonly witnesses = new Witnesses()
  readonly overlap: OverlapSize
  /** Neighbours showed the same rows in another order too often for a list that has one. */
  isUnordered = false
  /** Page numbers that were answered wrongly in any size: other windows are read in their place. */
  readonly avoid = new Set<number>()
  /** What the scans before found out about the order of this list. */
  readonly order: OrderFacts
  /** The same for the next scan; what this one does not find out again is left as it was, except what must be earned anew. */
  nextOrder: OrderFacts
  /** The order of the list as last read. */
  readonly remembered: RememberedOrder
  readonly #notes = new Map<Reason, number>()

  constructor(pageSize: number, order: OrderFacts = {}, list?: RememberedList) {
    this.pageSize = pageSize
    this.order = order
    this.overlap = new OverlapSize(order.overlap)
    this.nextOrder = { ...order, still: undefined }
    this.remembered = new RememberedOrder(list, order)
  }

  learn(read: ReadWindow): void {
    if (read.total !== undefined) this.total = read.total
    this.greatestTotal = Math.max(this.greatestTotal, this.total)
    if (read.all.length > 0 && read.reach === read.total) this.lastKey = keyOf(read.all.at(-1))
    this.witnesses.observe(read)
    this.remembered.observe(read)
    if (read.hasDuplicates) this.note('duplicate-id')
  }

  /** The orders that no window has contradicted. */
  get possible(): readonly Witness[] {
    return this.witnesses.possible(this.pageSize)
  }

  /** Those of them with enough evidence to be believed. */
  get believed(): readonly Witness[] {
    return this.witnesses.believed(this.pageSize)
  }

  /** A window was too large and its halves were not: the following windows are requested in half its size. */
  shrinkPages({ size }: Window): void {
    this.pageSize = Math.min(this.pageSize, Math.max(SMALLEST_PAGE, Math.ceil(size / 2)))
  }

  avoidPage(page: number): void {
    if (this.avoid.size < MOST_AVOIDED) this.avoid.add(page)
  }

  note(reason: Reason): void {
    this.#notes.set(reason, this.noted(reason) + 1)
  }

  noted(reason: Reason): number {
    return this.#notes.get(reason) ?? 0
  }

  get notes(): { reason: Reason; times: number }[] {
    return [...this.#notes].map(([reason, times]) => ({ reason, times }))
  }
}

/** How many more rows the next windows share after one that did not link. */
const MORE_AFTER_MISS = 2
/** How many rows fewer after a window that did: at rest, and where rows moved. With MORE_AFTER_MISS, one window in fifty misses. */
const LESS_AT_REST = 0.5
const LESS_AFTER_LINK = 0.04

/**
 * How many rows a window is to share with the one before it: as many as the last shifts ask for. Rows deleted between two answers pull
 * the list to the left, out of the overlap; rows inserted push more into it.
 */
class OverlapSize {
  #rows: number
  #sum = 0
  #links = 0

  /** `usual` is the size that the scan before it found; unknown without it. */
  constructor(usual = USUAL_OVERLAP) {
    this.#rows = Math.max(USUAL_OVERLAP, usual)
  }

  /** At least what two shared rows at rest need. */
  get rows(): number {
    return Math.round(this.#rows)
  }

  /** The mean over the scan; undefined without any window that links. */
  get usual(): number | undefined {
    return this.#links === 0 ? undefined : Math.round(this.#sum / this.#links)
  }

  /** A window linked with the one before it. */
  linked({ still }: Overlap): void {
    this.#links += 1
    this.#sum += this.#rows
    this.#rows = Math.max(USUAL_OVERLAP, this.#rows - (still ? LESS_AT_REST : LESS_AFTER_LINK))
  }

  /** The positions of a window overlapped with those of the one before it, but too few rows did. */
  missed(pageSize: number): void {
    const most = Math.ceil(pageSize / 3)
    this.#rows = Math.min(most, this.#rows + MORE_AFTER_MISS)
  }
}
