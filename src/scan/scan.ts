import type { OrderFacts } from '../list/order-facts.ts'
import type { Certificate } from './certificate.ts'
import type { Window, WindowFailure, WindowAnswer } from './window/window.ts'

/**
 * One reading of a whole list, driven from outside: take windows from it, fetch them, and report each result. As long as it is
 * not done and nothing is under way, `next` returns a window.
 */
export interface Scan {
  /** The next windows that may be asked for now, at most `free`; [] while it must wait for windows under way. */
  next(free: number): Window[]
  /** A window was read. */
  read(answer: WindowAnswer): void
  /** A window could not be read, and the same request would fail again. */
  failed(window: Window, failure: WindowFailure): void
  /** No further window will be requested, and none is under way. */
  readonly done: boolean
  /** What the scan has proven. Before it is done: unproven, because interrupted. */
  certificate(): Certificate
  /** What it found out about the order of the list, for the next scan of it. */
  readonly order: OrderFacts
}

export type ScanCaps = {
  /** The most requests in a whole scan. */
  readonly requests: number
  /** The most passes over the list while its total stays the same. */
  readonly passes: number
  /** How often the total may change before further passes are given up. */
  readonly restarts: number
}

/** Enough for a list of about twelve million rows. */
export const USUAL_CAPS: ScanCaps = { requests: 150_000, passes: 12, restarts: 3 }
