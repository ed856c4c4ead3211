import type { OrderEvidence } from './proof/remembered-order.ts'
import type { Reason } from './reasons.ts'
import type { StoppedAt } from './window/window.ts'

/**
 * What is proven, and why: an argument for each basis that a certificate can name.
 *
 * # `witness`: an order that the rows show
 *
 * Let f be a field of the rows that never changes, such that the list is sorted by f at every moment; equal values may stand
 * in any order, and change it. The scan keeps windows W0 … Wn, each the contiguous rows of one list at one moment:
 *   (a) W0 starts at position 0;
 *   (b) neighbours hold a row z in common, and f(first row of Wk+1) < f(last row of Wk), or f is different for every row;
 *   (c) Wn read fewer rows than its size, and its total ends where it ends: it holds the last row of the list it was cut
 *       from.
 * Then every row that was listed from the first request to the last answer is in one of the windows.
 *
 * Suppose y was listed throughout the scan and is in no window. A window is contiguous, so in the list it was cut from y
 * stands either before all of it or after all of it. By (a), y stands after W0. If y stands after Wk, then z stands before y
 * there. Were y before Wk+1, it would stand before z there: the two would have changed places, which only rows of equal f may.
 * But f(z) is not both f(last of Wk) and f(first of Wk+1), and all rows of equal f stand together: y, beyond an end of a
 * different f, is none of them. So y stands after Wk+1, and in the end after Wn, against (c).
 *
 * The row in common is needed. That keys overlap says as much only while f orders the whole list, and that was seen only
 * inside windows: where creation times run twice, or one row is dated into the future, rows between two windows that share
 * none may be any. The row z makes the same argument for every order in which rows that stay keep their places.
 *
 * Nothing here says when a window was read, nor that it was read after its neighbour, nor what was inserted or deleted in
 * between. It follows that windows may be read in parallel, in any order, and hours apart after an interruption; that a chain
 * may step back as far as it likes, or even begin again at position 0; and that rows without a readable id do no harm inside a
 * window, because its readable rows bound it as well. A row appended after Wn was read is new.
 *
 * Local times without a zone are such an f only until clocks are set back: then an hour comes twice. With each hour of such
 * nights taken as one time (window/repeated-hours.ts), f sorts the list again, and a seam must not lie within it.
 *
 * What is assumed and not proven is f. The witness is the evidence: every window was sorted by it. An order by last change
 * looks like one by `created_at` until a row changes; such a row moves to an end of the list. Therefore a scan that saw
 * movement reads both ends once more before it trusts its witness, as far as rows it knows from there: whatever moved to an
 * end stands before those rows, however far it was pushed down, and shows there as out of order (passes/closing.ts).
 *
 * # `counted`: many rows of one time
 *
 * More rows of equal f than a window leads over are counted instead. Let the chain hold windows Wi … Wj with Wi beginning
 * before and Wj ending behind all rows from f = t up to f < u. Those stand together at positions [p, s), p seen in Wi and s in
 * Wj. If no row was added among them and s - p different ones were read since [p, s) was so long, they are all there were, and
 * Wi … Wj are one window for the argument above. That nothing was added there is not seen: such a scan is `converged`
 * (proof/tie-region.ts).
 *
 * # `remembered order`: the order of the list as last read
 *
 * That order is such a witness, where f is not shown: the place of a customer in that list stands for f, and all customers
 * known from it stood in its order, in every window of the scan. Then (b) asks only for z, since f is different for every row.
 * The argument needs no place for y or z: a new customer has an f too, which nothing shows. Therefore the windows with known
 * rows must be linked by known rows. A seam whose shared rows are all new is taken only before the first known row or after
 * the last one: in between, rows that moved could stand behind the new ones, in order among themselves. A customer who was
 * deleted and came back has a new f, is new if the list as last read lacks the id, and else stands out of order.
 *
 * The evidence that f never changes, each for a kind of order that does:
 *   - by a field that is shown: sampled pages show that no field which may change is sorted, upward or downward;
 *   - by last change: at least eight customers changed in their fields and stand as before. Where the same ones are touched
 *     every night, in the same order, even that looks still; then a row that changes during the scan moves to an end, which
 *     is read again;
 *   - by a number that is hidden and changes: no customer moved between the last two complete runs, nor since.
 *
 * What remains assumed: that such a number, or a form of a field in which no sampled page looked sorted, which has moved no
 * customer in two runs and none in any window of this one, did not move its first one past the windows during this scan. Such
 * a customer, and no other, may be missed; the next night finds the customer out of order, and is not proven.
 *
 * # `quiet` and `one-page`: nothing moved
 *
 * Without a witness the scan is proven only if nothing moved: in every overlap the same ids at the same positions, one total
 * throughout, and as many distinct ids as the total. One row moving from i to j shifts every row between them. If it was lost,
 * the windows over its new place were all read before, those over its old place all after; somewhere between the two a window
 * read before adjoins one read after, their overlap lies between i and j, and its rows have shifted. Several moves may cancel
 * out in every overlap: rare, and the reason two absences come before a removal. One window that holds the whole list needs
 * none of this: it was cut from one list.
 *
 * Windows from before an interruption meet the others in one overlap, after minutes or hours in which a few moves cancel out there
 * easily: one row deleted above it, one inserted below it, and one that went from below to above. So a pass is not quiet, whatever it
 * shows, where two neighbours were read in different stretches of time: before and after an interruption, or a pause of more than a minute.
 * Two neighbours read before an interruption count as such too: it may have been the second one, and the first one between them.
 *
 * # `settled`: whatever the order is
 *
 * Without a witness, and with changes, a scan can still be settled. Let K be any rows that keep their places among each other:
 * at all moments of the scan, those of them that are listed stand in the same relative order. With (a) and (c), and
 *   (d) neighbours hold a row of K in common,
 * every row of K that was listed throughout is in one of the windows. For suppose y is in none. As above, y stands after W0;
 * if it stands after Wk, the common row z stands before it there, so z stands before it when Wk+1 is read, and y, which is not
 * in Wk+1, stands after all of it; in the end it stands after Wn, against (c). Only rows that changed places may be missing.
 *
 * Which rows are in K cannot be seen. So neighbours must share two rows or more, all in the same order in both windows, at
 * least half of the rows where the windows overlap, and none half a window from where it stood: then (d) fails only where rows
 * that stand together moved together between the two answers (proof/seams.ts). A seam that is not so is repaired like one that
 * shares no row. A list whose neighbours show many rows in another order has no order, and does not settle; neither does one
 * that repeats more rows than its changes explain, or a quiet one whose rows do not add up to its total.
 *
 * # `last change`: settled, and the rows that moved were read too
 *
 * This holds in an order by last change, in which rows move only to the top. Let the lowest window hold the last row of its
 * list, neighbours share a row that stayed where it was from the answer of one to that of the other, and the window at
 * position 0 be asked for when all others have arrived. Then every row y that was listed throughout is in one of the windows.
 *
 * Let t be the time when y last went up before the top was read, or none, and Wj the highest window that was read before t.
 * All windows above it were read after t, and the row that Wj shares with the next one stayed, while y went above it: so y is
 * in that next window, or above it. (Without Wj, y is in the lowest window or above it.) From then on y keeps its place, and
 * so does each shared row between the two answers: y is in one of the windows, or above the last of them, which begins at
 * position 0. That holds whatever was inserted at the top or deleted, and for windows read ahead in any order.
 *
 * Two rows shared where the windows meet show that they stayed: rows that went up since stand at the top, above all that
 * stayed. What is assumed and not proven is the order itself; without it, the same seams still settle the scan. After a scan
 * that was read forward, what stands above its first window is read in this way.
 */
export type Certificate = {
  /**
   * `proven`: every row that was listed throughout the scan was read. `settled`: every such row that kept its place among the
   * others was. `converged`: repeated passes agree. `unproven`: none of these.
   */
  readonly proof: 'proven' | 'settled' | 'converged' | 'unproven'
  /**
   * What the proof rests on; undefined without one. `counted`: the scan is converged, and parts of the list were counted. `last
   * change`: the scan is settled, and rows that moved were seen to go to the top, which was read last.
   */
  readonly basis: Basis | undefined
  /** The order that vouches for the list, e.g. `created_at desc`; undefined where it does not rest on one. */
  readonly witness: string | undefined
  /** Why the order of the list as last read is believed, where the proof rests on it. */
  readonly evidence: OrderEvidence | undefined
  /** Why the scan is not proven; empty when it is. */
  readonly reasons: readonly Reason[]
  /** What went wrong during the scan and how often, repaired or not. */
  readonly notes: readonly { readonly reason: Reason; readonly times: number }[]
  readonly passes: number
  /** Answers and failures the scan was given. */
  readonly requests: number
  /** Different ids read since the total last changed between passes. */
  readonly distinct: number
  /** The total as last stated by the service. */
  readonly total: number | undefined
  /** The page size in which the list was read: as configured, or smaller where the service serves less. */
  readonly pageSize: number
  /** The end of the list was never reached, because this window could not be read; undefined where it was reached. */
  readonly stoppedAt: StoppedAt | undefined
  /** The list was read to its end and holds no customer. */
  readonly empty: boolean
  /** Positions that no request could read. */
  readonly holes: readonly Hole[]
}

/** What a scan that reads no row twice can say of a proof: nothing. */
export const NO_PROOF = {
  proof: 'unproven',
  basis: undefined,
  witness: undefined,
  evidence: undefined,
  passes: 1,
} as const

type Basis = 'one-page' | 'quiet' | 'witness' | 'remembered order' | 'counted' | 'last change'

/** Positions `[position, position + size)`. */
export type Hole = { readonly position: number; readonly size: number }

/** How one pass over the list was proven. */
export type PassProof = {
  readonly basis: Basis
  readonly witness?: string
  readonly evidence?: OrderEvidence
}
