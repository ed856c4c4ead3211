import type { Row, Warnings } from './customer.ts'
import type { Fingerprint } from './fingerprint.ts'
import type { ListAsRead } from './list-as-read.ts'
import type { Proof, RecordCounts, RunStatus, SourceCounts, Trigger } from './report.ts'
import type { RowSet } from './row-set.ts'
import type { AnsweredWindow } from './sorted-page.ts'

/** A run that is being made: who it is for, and what it has seen and counted so far. */
export type Run = {
  readonly id: number
  readonly organization: string
  readonly trigger: Trigger
  readonly startedAtMs: number
  /** What it measures its lease by; without it the wall clock does. */
  readonly monotonicMs: (() => number) | undefined
  /** Milliseconds since it started, never below 0. */
  readonly tookMs: (nowMs: number) => number
  /** When its scan began: earlier than the run, when it goes on from an interrupted one. */
  readonly dataAsOfMs: number
  /** The interrupted run whose windows it goes on from. */
  readonly resumedFrom: number | undefined
  /** The customers in those windows. */
  readonly readBefore: number
  /** Whether this organization was never read to its end before: then additions are no changes. */
  readonly isBaseline: boolean
  /** Rows of `customers` this run has received. */
  readonly seen: RowSet
  /** Ids this run received in a record that had to be rejected. */
  readonly rejectedIds: Set<string>
  /** Rows whose removal is held back, when the run began. */
  readonly heldRows: ReadonlySet<number>
  /** The list as the last complete run read it. */
  readonly list: ListAsRead
  /** Marks records under the key of the mirror. */
  readonly fingerprint: Fingerprint
  /** Rows that may be stored otherwise than the list says. */
  readonly doubted: RowSet
  /** The last edit by hand when the run began; `doubted` includes the rows of all until then. */
  readonly lastEdit: number
  /** Rows this run has written again. */
  readonly written: RowSet
  readonly records: RecordCounts
  readonly warnings: Warnings
  pages: number
}

/** What a run is started with. */
export type Start = {
  organization: string
  trigger: Trigger
  nowMs: number
  /** Measures how long the run takes and holds its organization; without it the wall clock does. */
  monotonicMs?: (() => number) | undefined
  /** How old an interrupted scan may be for the run to go on from it; never, when undefined. */
  resumeWithinMs?: number | undefined
}

/** How a run ended. */
export type Ending = {
  status: Exclude<RunStatus, 'running'>
  proof: Proof
  reasons: readonly string[]
  source: SourceCounts
  /** Whether the list was read from its first position to its end, so that what was not received is no longer listed. */
  readToEnd: boolean
  /** The list as this run read it, for the next one; without it, the list before is kept. */
  list?: ListAsRead | undefined
  /** What the proof rests on, to be stored as JSON. */
  certificate?: object | undefined
  /** What to do about customers that were not received; without it, or without a proof, nothing. */
  removals?: Removals | undefined
  error?: { code: string; message: string } | undefined
}

/** When absence from scans becomes removal, and when it is too much at once to be believed. */
export type RemovalRule = {
  /** Scans in a row a customer must be absent from. */
  after: number
  /** The share of an organization's customers, 0 to 1, above which absences are held back. */
  maxShare: number
}

/** Grades of proof after which customers may be marked missing and removed. */
export type RemovingProof = 'proven' | 'converged'

/** What searches for the customers about to be removed came to. */
export type Searched = {
  /** Ids of customers whose absence searches confirmed. */
  confirmed: ReadonlySet<string>
  /** Ids of customers that a search found: they are listed, and the scan did not read the whole list. */
  found?: ReadonlySet<string> | undefined
  /** Ids of customers that the service refused to search for, though it searches for others: they are not removed. */
  unanswered?: ReadonlySet<string> | undefined
  /** Only a random sample was searched for; one found then holds back all the others. */
  isSample?: boolean | undefined
  /** The searches were not finished: no customer is removed by this run. */
  isPostponed?: boolean | undefined
}

/** What to do about customers that were not received. */
export type Removals = Searched & { rule: RemovalRule }

/** A customer that was listed before and not in this scan. */
export type Absent = {
  rowId: number
  id: string
  name: string | null
  username: string | null
  email: string | null
  /** `YYYY-MM-DD HH:MM:SS`; null when it cannot be read. */
  createdAtUtc: string | null
  missingProven: number
  missingScans: number
}

/** The fields a customer can be searched by. */
export type Named = Pick<Absent, 'name' | 'username' | 'email'>

/** A customer about to be removed, with the values that were last read where the row has others. */
export type Candidate = Absent & { earlier: readonly Named[] }

/** A customer known to be listed. */
export type Listed = Named & { id: string }

/** A record's place in a window, with its row of `customers`; a reject has none. */
export type RecordedRow = Row & { rowId?: number | undefined }

/** A window as it was read: which page was asked for, what the service said of it, and who stood in it. */
export type RecordedWindow = AnsweredWindow & { rows: RecordedRow[] }
