import type { PassProof } from './certificate.ts'
import type { ChainEnds } from './proof/chain-ends.ts'
import type { ReadWindow } from './window/read-window.ts'
import type { Reason } from './reasons.ts'
import type { Seams } from './proof/seams.ts'
import type { TieRegion } from './proof/tie-region.ts'
import type { StoppedAt, Window, WindowFailure } from './window/window.ts'

/** `flaky`: the window failed, but smaller windows read all of its positions. */
export type PassFailure = WindowFailure | 'flaky'

/** One reading of the list from one end to the other. */
export interface Pass {
  /** The next window to ask for; undefined while it must wait for windows under way. */
  next(): Window | undefined
  /** A window was read; it may be one this pass never asked for. */
  take(asked: Window, read: ReadWindow): void
  failed(window: Window, failure: PassFailure): void
  /** Ends the pass where it is. */
  stop(reason: Reason): void
  readonly over: boolean
  /** The pass reached the other end of the list. */
  readonly complete: boolean
  /** The window that could not be read and ended the pass before the list did. */
  readonly stoppedAt: StoppedAt | undefined
  /** What went wrong and could not be repaired: with any of these the pass proves nothing. */
  readonly flaws: ReadonlySet<Reason>
  /** Why the order of the rows did not prove the pass; empty when it did. */
  readonly obstacles: readonly Reason[]
  /** The seams of its chain; undefined where windows share no rows. */
  readonly seams: Pick<Seams, 'metAgain' | 'areNearlyStill' | 'areWorthAnother'> | undefined
  /** Whether every row was read that kept its place among the others (see certificate.ts). */
  readonly settles: boolean
  /** What was found out about the order, where the pass settles the scan. */
  readonly settledBy?: PassProof | undefined
  /** What the pass proves by itself. */
  proof(): PassProof | undefined
}

/** A pass that links window to window, from one end of the list to the other. */
export interface ChainedPass extends Pass {
  readonly flaws: Set<Reason>
  /** Parts of the list that must be counted before the pass proves anything. */
  toCount(): readonly TieRegion[]
  /** Both ends of the list, as first read. */
  readonly ends: Pick<ChainEnds, 'first' | 'lastTwo'>
  /** A window read before an interruption. To be given in the order of their positions, before anything else. */
  recall(read: ReadWindow): void
}
