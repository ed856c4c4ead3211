import type { Certificate } from './certificate.ts'
import type { Window, WindowFailure, WindowAnswer } from './window.ts'

/**
 * One reading of a whole list, driven from outside: ask it for windows, fetch them, tell it what came. While it is not
 * done and nothing is under way, `next` always has a window.
 */
export interface Scan {
  /** The next windows that may be asked for now, at most `free`; [] while it must wait for windows under way. */
  next(free: number): Window[]
  /** A window was read. */
  read(answer: WindowAnswer): void
  /** A window could not be read, and asking for it in the same way would fail again. */
  failed(window: Window, failure: WindowFailure): void
  /** Nothing more will be asked for, and nothing is under way. */
  readonly done: boolean
  /** What the scan has proven. Before it is done: unproven, because interrupted. */
  certificate(): Certificate
}

export type ScanCaps = {
  /** Requests in the whole scan, whatever the service says. */
  readonly requests: number
  /** Readings of the list while its total stands still. */
  readonly passes: number
  /** Times the total may change before further passes are given up. */
  readonly restarts: number
}

/** Room for a list of some twelve million rows. */
export const USUAL_CAPS: ScanCaps = { requests: 150_000, passes: 12, restarts: 3 }
