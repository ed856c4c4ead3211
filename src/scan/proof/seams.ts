import type { Findings } from '../findings.ts'
import { MetAgain } from './met-again.ts'
import type { Overlap } from '../window/overlap.ts'
import type { ReadWindow } from '../window/read-window.ts'

/** Rows that neighbours must share to settle: a single one may have moved itself. */
const ENOUGH_SHARED = 2
/** Readings with rows in another order before the list is taken for one without an order, and how many more a number of seams allows. */
const FEW_REORDERED = 2
const SEAMS_FOR_ONE_MORE = 8
/** Windows that did not link, beyond those that did, before repairs only for the sake of firm seams are given up. */
const FEW_MISSED = 8
/** Neighbours of equal creation time, in the same order in two windows, before ties are believed to keep their order. */
const ENOUGH_TIES = 12
/** One answer that leaves out a row disturbs the seam behind it. */
const FEW_RESTLESS = 1
/** The requests that a proof by a further pass may cost on average: if its chance is below 1 in so many, the pass is not made. */
const MOST_FOR_A_PROOF = 300

/**
 * Whether neighbours share enough rows, all of them in the same order, and none far from where it stood (see certificate.ts). Rows that
 * moved together from inside the left window to the inside of the right one are few among the rows around them.
 */
export function isFirm({ shared, spread, reordered, displaced, atBeginning }: Overlap): boolean {
  return atBeginning || (shared >= ENOUGH_SHARED && 2 * shared >= spread && !reordered && !displaced)
}

/** The seams of one chain: whether all of them are firm, and at how many of them the list was seen to change. */
export class Seams {
  readonly #findings: Findings
  #linked = 0
  #restless = 0
  #missed = 0
  #reordered = 0
  #tiesInOrder = 0
  #firm = true
  #isOneStretch = true
  readonly metAgain = new MetAgain()
  #lastPair: readonly ReadWindow[] = []

  constructor(findings: Findings) {
    this.#findings = findings
  }

  link(overlap: Overlap, pair: readonly [left: ReadWindow, right: ReadWindow]): void {
    this.#linked += 1
    for (const window of pair) if (!this.#lastPair.includes(window)) this.metAgain.addRows(window.keys.length)
    this.#lastPair = pair
    this.metAgain.addRows(-overlap.shared)
    this.metAgain.addSeam(overlap)
    this.#firm &&= isFirm(overlap)
    this.#isOneStretch &&= pair[0].stretch === pair[1].stretch
    if (!overlap.still) this.#restless += 1
    if (overlap.reordered) this.#noteReordered()
    else if (overlap.ends?.times === 0) this.#tiesInOrder += Math.max(0, overlap.shared - 1)
  }

  /** A window was read and not linked. */
  missed({ reordered }: Overlap): void {
    this.#missed += 1
    if (this.#missed > FEW_MISSED + this.#linked) this.#firm = false
    if (reordered) this.#noteReordered()
  }

  /** Positions between two windows were left unread. */
  cut(): void {
    this.#firm = false
  }

  /** Whether all of them are firm so far, and the list has an order. */
  get areFirm(): boolean {
    return this.#firm && !this.#findings.isUnordered
  }

  /** Whether rows of equal creation time were seen to keep their order, and hardly ever seen in another. */
  get areTiesStable(): boolean {
    return this.#tiesInOrder >= ENOUGH_TIES * (1 + this.#reordered)
  }

  /** Whether all windows were read in one stretch of time. After a long pause a few moves are likely to cancel out where the chain goes on. */
  get areOfOneStretch(): boolean {
    return this.#isOneStretch
  }

  /** Whether the list was seen to change at so few of them that one answer may have been wrong instead. */
  get areNearlyStill(): boolean {
    return this.#restless <= FEW_RESTLESS
  }

  /**
   * Whether a further pass like this one is worth its requests. It proves the scan if it is quiet: with a chance of e^-changes, where
   * the changes come at random. Where one was interrupted, so may be the next.
   */
  get areWorthAnother(): boolean {
    return this.#isOneStretch && (this.#linked + 1) / Math.exp(-this.#restless) <= MOST_FOR_A_PROOF
  }

  /** In a list without an order, windows that are read again and again agree some day by chance: no later pass settles it either. */
  #noteReordered(): void {
    this.#reordered += 1
    if (this.#reordered > FEW_REORDERED + this.#linked / SEAMS_FOR_ONE_MORE) this.#findings.isUnordered = true
  }
}
