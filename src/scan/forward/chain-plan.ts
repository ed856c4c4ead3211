import type { Findings } from '../findings.ts'
import { type PendingWindow, PendingWindows } from '../plan/pending-windows.ts'
import { windowAfter, windowAt, windowOnward } from '../plan/planner.ts'
import { SMALLEST_PAGE } from '../proof/witness.ts'
import type { ReadWindow } from '../window/read-window.ts'
import type { Reason } from '../reasons.ts'
import type { Window } from '../window/window.ts'

/** Windows ahead of one that does not link: those read long before the link is repaired show another list than the repair. */
const MOST_AHEAD_OF_REPAIR = 8

/** The windows ahead of a chain: which are pending, and which comes next. */
export class ChainPlan {
  readonly #findings: Findings
  /** Planned, asked and read windows to the right of the chain, nearest first. */
  readonly pending: PendingWindows
  readonly #leastToShare: number
  readonly #flaws: Set<Reason>
  /** The rows of a first page that was not full, and that no total showed to be the last one. */
  #mostServed = Infinity

  /** Adds `no-overlap` to `flaws` where a window cannot share a row with the one before it. */
  constructor(findings: Findings, rowsToShare: number, flaws: Set<Reason>) {
    this.#findings = findings
    this.#leastToShare = rowsToShare
    this.#flaws = flaws
    this.pending = new PendingWindows([{ page: 1, size: findings.pageSize }])
  }

  /** How many rows a window shares with the one before it, at least. */
  get rowsToShare(): number {
    return Math.max(this.#leastToShare, Math.min(Math.ceil(this.#findings.pageSize / 3), this.#findings.overlap.rows))
  }

  /** The window after a position that shares rows with those before it. */
  windowAfter(end: number): Window {
    const { pageSize, avoid } = this.#findings
    const { window, overlaps } = windowOnward(end, this.rowsToShare, Math.min(pageSize, this.#mostServed), avoid)
    if (!overlaps) this.#flaws.add('no-overlap')
    return window
  }

  /**
   * The next window after one that was not full, in no larger size: whatever size it states, the service may serve no more rows than
   * that. If the first page was not full, neither are the others.
   */
  goOnAfterShort({ start, reach, all }: ReadWindow): void {
    const size = Math.min(this.#findings.pageSize, all.length)
    if (start === 0) this.#mostServed = Math.max(SMALLEST_PAGE, size)
    if (this.pending.empty) this.pending.add(windowAfter(reach, this.rowsToShare, size) ?? windowAt(reach, size))
  }

  /** Whether a window continues another one at a position that every size divides, so that no window shares rows with both sides. */
  adjoins(left: ReadWindow, read: ReadWindow): boolean {
    return read.start === left.reach && windowAfter(left.reach, 1, this.#findings.pageSize) === undefined
  }

  /** One more window for a chain that ends at `reach`; undefined when none can be planned yet. */
  goOn(
    reach: number,
    { isLookingBack, isRepairing }: { isLookingBack: boolean; isRepairing: boolean },
  ): PendingWindow | undefined {
    if (this.pending.empty) return this.pending.add(this.windowAfter(reach))
    const hasMore = reach > 0 && this.pending.end <= this.#findings.total && !isLookingBack
    if (isRepairing && this.pending.all.length >= MOST_AHEAD_OF_REPAIR) return undefined
    return hasMore && !this.pending.full ? this.pending.add(this.windowAfter(this.pending.end)) : undefined
  }
}
