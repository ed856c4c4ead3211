import type { Reason } from '../model/reasons.ts'
import type { ReadWindow, StoppedAt, Window, WindowAnswer, WindowFailure } from './window.ts'

/*
 * What a scan proves, and why.
 *
 * The service lets us choose any page size from 1 to 100, so neighbouring windows can overlap. The scan keeps windows W0 … Wn, each the
 * contiguous rows of the list at one moment, such that
 *   (a) W0 starts at position 0;
 *   (b) neighbours share a row z;
 *   (c) Wn has fewer rows than its size, and its total ends where it ends: it holds the last row of its list.
 *
 * PROVEN. Let f be a field that never changes, such that the list is sorted by f at every moment; rows of equal f may stand in any order.
 * Let (b) say in addition that f(first row of Wk+1) stands before f(last row of Wk), or that f is different for every row. Then every row y
 * that was listed from the first request to the last answer is in one of the windows.
 *   Suppose not. A window is contiguous, so y stands before all of it or after all of it. By (a), y stands after W0. If y stands after Wk,
 *   then z stands before y there. Were y before Wk+1, it would stand before z there: they changed places, which only rows of equal f may.
 *   But f(z) is not both f(last of Wk) and f(first of Wk+1), and rows of equal f stand together: y is beyond the end whose f is another one,
 *   so it is none of them. So y stands after Wk+1, and in the end after Wn, against (c).
 * Nothing here says when a window was read, nor what was inserted or deleted in between: windows may be read in parallel, in any order,
 * and hours apart after an interruption, and a chain may step back as far as it likes.
 *   What is assumed is f, `id` or `created_at`. The evidence is that every window was sorted by it (witness.ts). An order by last change
 * looks like one by `created_at` until a row changes; that row moves to an end of the list. Therefore a scan that saw movement reads both ends
 * once more before it trusts its witness, as far as rows that it knows from there (ends.ts): whatever moved to an end stands before those
 * rows, and shows there as out of order. A list of one page was cut from one list, and needs none of this.
 *
 * SETTLED. Whatever the order is: let K be the rows that keep their places among each other. If neighbours share a row of K, every row of K
 * that was listed throughout is in one of the windows, by the same steps. Which rows are in K cannot be seen. So a seam is firm only where
 * neighbours share two rows or more, in the same order in both, at least half of the rows where they overlap, and none half a window from
 * where it stood (seam.ts): then (b) fails only where rows that stand together moved together between two answers. Only customers who moved
 * meanwhile may be unread. A list that merely stood still proves no more than this: two that swapped places cancel out.
 *
 * UNPROVEN, with its reasons: a seam that is neither, a row that could not be read, an answer that contradicts another. `isWhole` where the
 * end was reached all the same, and hardly a row is lacking.
 *   A total that is a limit of the service ends a list too early: (c) holds for a list that goes on. Totals at which services are known to stop
 * counting are not believed; what only the nights together show is judged by the run (sync/read-list.ts). Totals that leap up and down come from
 * databases of which one lags behind another, and (c) holds for the older list.
 *
 * Three stages: the chain, window by window, and where a seam is not good, some further back (chain.ts); both ends, only if something moved;
 * and stretches without a good seam once more, which proves nothing and finds rows (ends.ts). All of it takes at most three times the requests
 * of a plain reading.
 */

export type Certificate = {
  readonly proof: 'proven' | 'settled' | 'unproven'
  /** What the proof rests on, and the order that vouches for the list, if it rests on one: `created_at desc`. */
  readonly basis: 'one-page' | 'witness' | 'seams' | undefined
  readonly witness: string | undefined
  /** Why the scan is not proven; empty when it is. */
  readonly reasons: readonly Reason[]
  /** The list was read to its end and hardly a row is lacking: absences count for removals that searches confirm. */
  readonly isWhole: boolean
  readonly requests: number
  /** How many ids were read, how many records that repeat none of another window, and the position after the last of these. */
  readonly distinct: number
  readonly unrepeated: number
  readonly reach: number
  /** As last stated by the service; and in which size its pages were read, where it serves smaller ones than are configured. */
  readonly total: number | undefined
  readonly pageSize: number
  /** The window that could not be read, where the end of the list was not reached because of it. */
  readonly stoppedAt: StoppedAt | undefined
  /** The position at which pages end although the total is greater; undefined without such a limit. */
  readonly limit: number | undefined
  /** Positions that no request could read. */
  readonly holes: readonly { readonly position: number; readonly size: number }[]
}

/** What a scan can say of a proof that reads no row twice: nothing. */
export const NO_PROOF = {
  proof: 'unproven',
  basis: undefined,
  witness: undefined,
  isWhole: false,
  limit: undefined,
  unrepeated: 0,
  reach: 0,
} as const

/** One reading of a list, driven from outside: its windows are fetched, and results reported. Until done, `next` has one when none is under way. */
export interface Scan {
  /** The next windows that may be asked for now, at most `free`; [] while it must wait for windows under way. */
  next(free: number): Window[]
  read(answer: WindowAnswer): void
  /** A window could not be read, and the same request would fail again. */
  failed(window: Window, failure: WindowFailure): void
  /** No further window will be requested, and none is under way. */
  readonly done: boolean
  /** What the scan has proven. Before it is done: unproven, because interrupted. */
  certificate(): Certificate
}

/** Why a window could not be read; `flaky`: as a whole, and yet in its parts. */
export type Failure = WindowFailure | 'flaky'

/** A part of a scan, which asks for windows until it is over. */
export interface Stage {
  next(): Window | undefined
  /** Undefined for a window whose answer it does not wait for. */
  waitingFor(window: Window): object | undefined
  /** A window for which it waits was read, or could not be. */
  settle(window: Window, outcome: ReadWindow | Failure): void
  readonly isOver: boolean
}
