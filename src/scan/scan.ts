/**
 * The reading part of a run, without any reading: which window of the list to ask for next, and what the windows read so
 * far prove. Pure: no network, no clock, no randomness.
 */
export interface Scan {
  /** Windows to ask for now, at most `free` of them; none while the answer depends on windows still under way. */
  next(free: number): Window[]
  /** Tells the scan what a window showed. Windows may be told in any order. */
  read(read: WindowRead): void
  /** Whether everything there is to read was read. */
  readonly done: boolean
  /** What the windows read prove, and if not everything, why not. */
  certificate(): Certificate
}

/** The positions `[size * (page - 1), size * page)` that a page covers; pages count from 1. */
export type Window = { page: number; size: number }

/** A record's place in the listing: who stands there, if it can be read, and its `created_at`. */
export type Row = { id: string | undefined; createdAt: string | undefined }

export type WindowRead = {
  window: Window
  rows: readonly Row[]
  /** The page size in effect, smaller than the window's when the service caps it. */
  perPage: number
  /** `meta.total`, where the service tells it. */
  total: number | undefined
  /** `meta.last_page`, where the service tells it. */
  lastPage: number | undefined
  /** The window lies beyond the last page. */
  beyondEnd: boolean
}

export type Reason = 'plain-scan' | 'page-limit' | 'interrupted' | 'failed'

export type Certificate = { proof: 'proven' | 'converged' | 'unproven'; reasons: Reason[]; readToEnd: boolean }
