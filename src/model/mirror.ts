import type { Proof, Report, RunStatus } from './report.ts'
import type { Tally } from './run.ts'
import type { Reject } from './page.ts'

/** The results of the saved pages, with what was received for the first time in this run. */
export type PagesSaved = Tally & {
  /** The row number of each record of each page, in order; 0 for a reject without a customer, and below 0 a forgotten customer's number. */
  pages: ArrayLike<number>[]
  /** How many of the updated rows the interrupted run had read that this one continues. */
  writtenAgain: number
}

/** How current an organization's rows are. Times in Unix milliseconds, each the start of a scan; undefined if there is none. */
export type Freshness = {
  organization: string
  /** The last run that read the list to its end, whatever it proved. */
  readAsOfMs: number | undefined
  /** The last run whose scan is proven or settled. */
  provenAsOfMs: number | undefined
  /** What the run of `readAsOfMs` proved. */
  proof: Proof | undefined
  lastRunId: number
  lastStatus: RunStatus
  /** The status of the latest run that was not partial; undefined if there is none. */
  lastFullStatus: RunStatus | undefined
  firstRunAtMs?: number | undefined
  /** The last partial run, where no full one began after it. */
  lastPartial?: LastPartialRun | undefined
  active: number
  missing: number
  removed: number
  held: number
  openRejects: number
  /** Why the last full run, or the last that read the list to its end, is not proven: its error code, or reasons; those of the latter. */
  why: string[]
  readReasons: string[]
  /** Since when it is retired; undefined if it is not. */
  retiredAtMs: number | undefined
}

/** Freshness without the counts of customers, which take longer the more customers there are. */
export type UncountedFreshness = Omit<Freshness, 'active' | 'missing' | 'removed'>

/** What an organization's latest partial run did; `held` customers were not marked as missing because too many were absent at once. */
export type LastPartialRun = Pick<
  Report,
  'status' | 'reasons' | 'requests' | 'inserted' | 'updated' | 'missing' | 'held'
> & { runId: number; startedAtMs: number; trustedPages: number; errorCode: string | undefined }

/** How an organization's latest run ended, partial ones apart, and its last complete reading. Times in Unix milliseconds. */
export type LastRun = Pick<Freshness, 'organization' | 'readAsOfMs' | 'firstRunAtMs'> & {
  startedAtMs: number
  /** Undefined while it is under way. */
  endedAtMs?: number | undefined
  status: RunStatus
  errorCode: string | undefined
  /** The error of a partial run since then; undefined if the latest one had none, or there is none. */
  partialErrorCode?: string | undefined
}

/** A run with its certificate, the evidence of its proof. */
export type StoredRun = Report & { certificate: unknown }

/** A stored reject, and the page on which a run saw it last. */
export type StoredReject = Omit<Reject, 'key'> & { organization: string; runId: number; page: number; seenAtMs: number }

export type HeldRemovals = { runId: number; organization: string; held: number; startedAtMs: number }

export type Opening = {
  /**
   * Ends the wait for a file that another program has locked, and that for an answer of a server some seconds later; meanwhile the event loop
   * goes on, so that signals of the system are heard.
   */
  signal?: AbortSignal | undefined
  /** Its verbs wait for a file also after that: a worker that is stopped records how its runs ended. */
  waitsOnceStopped?: boolean
}

/** The file at the path of an open mirror: the open file, another one, or none. */
export type Standing = 'same' | 'another' | 'none'
