import type { Underway } from '../model/report.ts'

/** A run under way, and how far it is as far as that is known. */
export type Progress = Underway & {
  /** Customers read, those of the run it continues included. */
  readInAll: number
  /** From 0 to 99: a run is done when it has ended. Undefined where the number of customers is not known. */
  percent: number | undefined
  /** How long it takes until the list is read, at the pace so far; undefined where that cannot be said. */
  leftMs: number | undefined
}

/** A pace is known after this time. */
const LEAST_MS = 2000

/** How far a run is. A quick run reads a small part of the list, so nothing is said about its end. */
export function progressOf(run: Underway, nowMs: number): Progress {
  const readInAll = run.readBefore + run.read
  const total = run.isQuick ? undefined : run.total
  if (total === undefined || total === 0) return { ...run, readInAll, percent: undefined, leftMs: undefined }
  const percent = Math.min(99, Math.floor((readInAll / total) * 100))
  const tookMs = nowMs - run.startedAtMs
  const left = total - readInAll
  // Beyond its total, a list is being read again, and how often is not known.
  const hasPace = tookMs >= LEAST_MS && run.read > 0 && left > 0
  return { ...run, readInAll, percent, leftMs: hasPace ? (tookMs / run.read) * left : undefined }
}
