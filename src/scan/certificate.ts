import type { Reason } from './reasons.ts'
import type { StoppedAt } from './window.ts'

/**
 * What is proven, and why.
 *
 * Let f be a field of the rows that never changes, such that the list is sorted by f at every moment; equal values may
 * stand in any order, and change it. The scan keeps windows W0 … Wn, each the contiguous rows of one list at one moment:
 *   (a) W0 starts at position 0;
 *   (b) for neighbours, f(first row of Wk+1) < f(last row of Wk). Where f is different for every row, equal will do: it
 *       is then the same row, which both windows hold;
 *   (c) Wn held fewer rows than its size, and its total ends where it ends: it holds the last row of the list it was cut from.
 * Then every row that was listed from the first request to the last answer is in one of the windows.
 *
 * Suppose y lived through the scan and is in none. A window is contiguous, so in the list it was cut from y stands either
 * before all of it or after all of it. By (a), y stands after W0. If y stands after Wk, then f(y) >= f(last of Wk), which
 * by (b) is greater than f(first of Wk+1), so y does not stand before Wk+1, hence after it. (Where f differs for every
 * row: y is not that row itself, so the same follows from equality.) So y stands after Wn, against (c).
 *
 * Nothing here says when a window was read, nor that it was read after its neighbour, nor what was inserted or deleted
 * in between. It follows that windows may be read in parallel, in any order, and hours apart after an interruption; that
 * a chain may step back as far as it likes, or even begin again at position 0; and that rows without a readable id do
 * no harm inside a window, because its readable rows bound it as well. A row appended after Wn was read is newborn.
 *
 * What is assumed and not proven is f. The witness is the evidence: every window was sorted by it. An order by last
 * change looks like one by `created_at` until a row changes; such a row moves to an end of the list. Therefore a scan
 * that saw movement reads both ends once more before it trusts its witness: out of order there, the row gives itself away.
 *
 * Without a witness the scan is proven only if nothing moved: in every overlap the same ids at the same positions, one
 * total throughout, and as many distinct ids as the total. One row moving from i to j shifts every row between them.
 * If it was lost, the windows over its new place were all read before, those over its old place all after; somewhere
 * between the two a window read before adjoins one read after, their overlap lies between i and j, and its rows have
 * shifted. Several moves may cancel out in every overlap: rare, and the reason two absences come before a removal.
 * One window that holds the whole list needs none of this: it was cut from one list.
 */
export type Certificate = {
  /** `proven`: every row that lived through the scan was read. `converged`: repeated passes agree. `unproven`: neither. */
  readonly proof: 'proven' | 'converged' | 'unproven'
  /** What the proof rests on; undefined without one. */
  readonly basis: Basis | undefined
  /** The order that vouches for the proof, e.g. `created_at desc`; undefined where it does not rest on one. */
  readonly witness: string | undefined
  /** Why the scan is not proven; empty when it is. */
  readonly reasons: readonly Reason[]
  /** What went wrong on the way and how often, mended or not. */
  readonly notes: readonly { readonly reason: Reason; readonly times: number }[]
  readonly passes: number
  /** Answers and failures the scan was given. */
  readonly requests: number
  /** Different ids read since the total last changed between passes. */
  readonly distinct: number
  /** The total as last stated by the service. */
  readonly total: number | undefined
  /** The end of the list was never reached, because this window could not be read; undefined where it was reached. */
  readonly stoppedAt: StoppedAt | undefined
  /** The scan was read to its end and the service listed nobody. */
  readonly empty: boolean
  /** Positions no request could read. */
  readonly holes: readonly Hole[]
}

export type Basis = 'one-page' | 'quiet' | 'witness'

/** Positions `[position, position + size)`. */
export type Hole = { readonly position: number; readonly size: number }

/** How one pass over the list was proven. */
export type PassProof = { readonly basis: Basis; readonly witness?: string }
