import type { Row, TextField, Warnings } from './customer.ts'
import type { Fingerprint } from './fingerprint.ts'
import type { Forgotten } from '../privacy/forgotten.ts'
import type { HiddenValues, PrivacyPolicy } from '../privacy/hidden-values.ts'
import type { LaterOrder, ListAsRead } from './list-as-read.ts'
import { noRecords, type Proof, type Prunable, type RunStatus, type SourceCounts, type Trigger } from './report.ts'
import { RowSet } from './row-set.ts'
import type { AnsweredWindow } from './page.ts'

/** A running run: its organization, and the rows it has seen and counted so far. */
export type Run = Tally & {
  readonly id: number
  readonly organization: string
  readonly trigger: Trigger
  readonly startedAtMs: number
  /** The clock of its lease; without it, the wall clock. */
  readonly monotonicMs: (() => number) | undefined
  /** Milliseconds since its start, never negative. */
  readonly tookMs: (nowMs: number) => number
  /** The start of its scan: earlier than the run, if it continues an interrupted one. */
  readonly readAsOfMs: number
  readonly resumedFrom: number | undefined
  /** How many customers that run had read, without those that this one has received with other values. */
  readBefore: number
  /** Whether it is a run between two nights: it reads a part of the list, and leaves alone what the next full run goes on from. */
  readonly isPartial: boolean
  /** Whether this organization was never read to its end before: then new customers are not recorded as changes. */
  readonly isBaseline: boolean
  /** Those of `seen` that it has received since it began: the others were read before by the interrupted run that it continues. */
  readonly receivedSince: RowSet
  readonly forgotten: Forgotten | undefined
  /** Rows whose removal was held back when the run began. */
  readonly heldRows: ReadonlySet<number>
  readonly list: ListAsRead
  readonly fingerprint: Fingerprint
  /** Rows that may have changed since the list was read. */
  readonly doubted: RowSet
  /** The edits by hand among them, by their numbers. */
  readonly edits: readonly number[]
  /** Undefined where no field is hidden, nor was until now. */
  readonly privacy?: RunPrivacy | undefined
  pages: number
}

/** What was received and written, in a run so far or in pages that were saved together. */
export type Tally = Readonly<ReturnType<typeof emptyTally>>

export function emptyTally() {
  const warnings: Warnings = {}
  return {
    records: noRecords(),
    warnings,
    /** Row numbers of the customers that were received; in a run that continues an interrupted one, by that one too. */
    seen: new RowSet(),
    /** Ids of rejected records, and numbers of forgotten customers, that were received. */
    rejectedIds: new Set<string>(),
    suppressed: new Set<number>(),
    written: new RowSet(),
    /** Rows for which a field came empty that has a stored value: it is kept until the run ends. By field. */
    emptied: new Map<TextField, RowSet>(),
    /** Those of them that are counted as unchanged. */
    unwritten: new RowSet(),
    /** How many customers came with a field that the specification does not know, and that they did not have before. By field. */
    gained: new Map<string, number>(),
  }
}

/** A field that many customers lost at once, or for which their records are rejected; empty where no field is named. */
export type ShapeChange = { field: string; customers: number; isRejected: boolean }

/** What a run does about fields that are not stored as sent. */
export type RunPrivacy = {
  readonly policy: PrivacyPolicy
  /** Hides the values of records as they are read; undefined where the policy hides none. */
  readonly hidden: HiddenValues | undefined
  /** Fields whose stored values may be lacking, since they were hidden otherwise before: to fill them is no change. */
  readonly unfilled: readonly string[]
  /** Whether stored values follow another policy, or old ones may still stand in free space of the file: they are rewritten before the run reads. */
  readonly isUnapplied: boolean
}

export type Start = {
  organization: string
  trigger: Trigger
  nowMs: number
  /** Whether to start a partial run: it continues no interrupted run, and takes nothing from it. */
  isPartial?: boolean | undefined
  /** The clock of the run's duration and lease; without it, the wall clock. */
  monotonicMs?: (() => number) | undefined
  /** How old an interrupted scan may be and still be continued; undefined means never. */
  resumeWithinMs?: number | undefined
  /** Which fields are not stored as sent; undefined hides none. `unreadable`: its key cannot be read, so the run saves nothing. */
  privacy?: PrivacyPolicy | 'unreadable' | undefined
}

export type Ending = {
  status: Exclude<RunStatus, 'running'>
  proof: Proof
  reasons: readonly string[]
  source: SourceCounts
  /** Whether the list was read from its first position to its end, so that customers not received are no longer listed. */
  readToEnd: boolean
  /** Whether an unproven scan came to the end of the list with hardly a row lacking. */
  isWhole?: boolean | undefined
  /** The list as this run read it, for the next one; without it, the list before is kept. */
  list?: ListAsRead | undefined
  /** Pages that a partial run trusted without reading them; undefined for other runs. */
  trustedPages?: number | undefined
  /** Rows of customers that a partial run found absent: they become missing, and no absence is counted. For `partial` only. */
  absentRows?: readonly number[] | undefined
  /** How many more customers seem absent to a partial run, but not for certain: they count where too many are absent at once. */
  openAbsences?: number | undefined
  /** The order of the list as a partial run found it, for the next one. For `partial` only. */
  later?: LaterOrder | undefined
  /** The evidence of the proof, stored as JSON. */
  certificate?: object | undefined
  /** How to handle customers that were not received; without it, or without a proof, they are not changed. Required with `absentRows`. */
  removals?: (Searched & { rule: RemovalRule }) | undefined
  /** What the clock of the service shows, in Unix milliseconds; undefined where it does not say. That of this machine may be behind. */
  serviceMs?: number | undefined
  error?: { code: string; message: string } | undefined
}

/** When absent customers are removed, and how many removals at once are held back. */
export type RemovalRule = {
  /** How many scans in a row a customer must be absent from. */
  after: number
  /** The share of an organization's customers, 0 to 1, above which removals are held back. */
  maxShare: number
}

/** How long rows are kept, in milliseconds; undefined: for ever. */
export type Retention = Record<`${Prunable}Ms`, number | undefined>

/** The moment against which the age of rows is measured. `isConfirmed`: a clock besides that of this machine agrees. */
export type Reckoning = { asOfMs: number; isConfirmed: boolean }

/** The results of searches for the customers about to be removed. */
export type Searched = {
  /** Ids of customers that no search found. */
  confirmed: ReadonlySet<string>
  /** Ids of customers that a search found: they are listed, so the scan did not read the whole list. */
  found?: ReadonlySet<string> | undefined
  /** How many searches the service refused, or left without an answer although it answered others. */
  refused?: number | undefined
  /** Whether only a random sample was searched for; one customer found then holds back all the others. */
  isSample?: boolean | undefined
  /** Whether the searches were not finished: then this run removes no customer. */
  isPostponed?: boolean | undefined
}

/** A customer that was listed before, but not in this scan. Without names: there may be a million. */
export type Absent = {
  rowId: number
  id: string
  /** `YYYY-MM-DD HH:MM:SS`, a fraction of a second may follow; null when it cannot be read. */
  createdAtUtc: string | null
  /** In how many scans in a row before this one: proven ones, proven and settled ones, and these with unproven ones that were whole. */
  missingProven: number
  missingScans: number
  missingWhole: number
}

/** A customer about to be removed, with the values last read, if the row has others. */
export type Candidate = Listed &
  Pick<Absent, 'rowId' | 'createdAtUtc'> & { createdAt: string | null; earlier: readonly Named[] }

export type Listed = Named & { id: string }

export type Named = Record<'name' | 'username' | 'email', string | null>

/** A window as read: its request, the meta data of its answer, and its rows; a reject has no row number, and that of a forgotten customer is below 0. */
export type RecordedWindow = AnsweredWindow & { rows: Row[] }
