import type { HiddenFields } from '../privacy/privacy-policy.ts'
import type { LatestRun, Proof, Pruned, RemovingProof, Report, RunStatus, LeasedRun } from './report.ts'
import type {
  Candidate,
  Ending,
  Listed,
  Reckoning,
  RecordedWindow,
  RemovalRule,
  Retention,
  Run,
  ShapeChange,
  Start,
  Tally,
} from './run.ts'
import type { Reject, SavedPage, SortedPage } from './page.ts'

/**
 * A mirror, through a small set of verbs. Each write is one transaction that first checks that its run still holds the lease of
 * its organization. Times are Unix milliseconds. Every verb throws MirrorUnusable when the file fails; that transaction is
 * rolled back.
 */
export type Mirror = {
  readonly file: string
  /** What tells this mirror from every other, wherever it is moved or restored: the hash of a random key. */
  identity(): Promise<string>
  /** Whether the path of the mirror still leads to the open file. */
  standing(): Standing
  /**
   * Starts a run and takes its organization's lease. Throws OrganizationLeased while another run has it. After the file
   * was replaced or deleted, starting, saving and completing a run throw MirrorUnusable `replaced`.
   */
  startRun(start: Start): Promise<Run>
  /**
   * Brings some thousands of stored values to the privacy policy of the run; true while more are left. The last step removes the old
   * values from the file too. To be called until it is false, before the run reads.
   */
  applyPrivacy(run: Run, nowMs: number): Promise<boolean>
  /** The privacy policies that the stored values follow; an organization of which nothing was ever hidden has none. */
  listPrivacy(): Promise<StoredPrivacy[]>
  /** How many pages of a run are best saved together, where they come faster than they can be saved. */
  pagesAtOnce(run: Run): number
  /**
   * Saves whole pages together: all of their records, or none. Throws OrganizationLeased if the lease was lost. Calls `onWaiting` once this
   * process has nothing left to do for them but to wait.
   */
  savePages(run: Run, pages: readonly SortedPage[], nowMs: number, onWaiting?: () => void): Promise<PagesSaved>
  /** Renews the lease while a run waits. Throws OrganizationLeased if the lease was lost. */
  renewLease(run: Run, nowMs: number): Promise<void>
  /** The windows of the run that this run continues, in order of position. Read them before saving pages. */
  recallWindows(run: Run): Promise<Iterable<RecordedWindow>>
  /** Counts which of a few ids belong to another organization and are new to this one. */
  findKnownElsewhere(organization: string, ids: readonly string[]): Promise<KnownElsewhere>
  /** The customers that a scan with this ending would remove; the caller searches for them first. */
  findRemovalCandidates(
    run: Run,
    ending: { rule: RemovalRule; proof: RemovingProof } & Pick<Ending, 'serviceMs'>,
  ): Promise<Candidate[]>
  /** Those of the rows that were listed until now and that a partial run did not receive; the caller searches for them. */
  findGone(run: Run, rowIds: readonly number[]): Promise<Candidate[]>
  /** Customers that the run has received, at most `most`, for testing whether searches work. */
  findListed(run: Run, most: number): Promise<Listed[]>
  /** Ends a run, releases its lease, and returns its report. */
  finishRun(run: Run, ending: Ending, nowMs: number): Promise<Report>
  /**
   * Deletes rows of an organization that are older than they are to be kept, in bounded steps, each a transaction, so that runs and
   * readers go on. What is left after the last step is deleted after a later run.
   */
  prune(organization: string, retention: Retention, reckoning: Reckoning): Promise<Pruned>
  /** The latest runs, newest first, of one organization or of all. */
  listRuns(filter: { organization?: string | undefined; limit: number }): Promise<Report[]>
  /** One run; undefined if there is no run with that number. */
  findRun(id: number): Promise<StoredRun | undefined>
  /** Held removals that wait for a decision, newest run first. */
  listHeldRemovals(): Promise<HeldRemovals[]>
  /** The customers whose removal that run holds back, by name. */
  listHeldCustomers(runId: number): Promise<HeldCustomer[]>
  /** Removes the customers whose removal that run held back. Returns their number. Throws UsageError if there are none. */
  approveRemovals(runId: number, nowMs: number): Promise<number>
  /**
   * Accepts the shape of the data that the last full run of an organization found changed: the next one stores what it receives. Returns how
   * it has changed. Throws UsageError where it has not.
   */
  acceptShape(organization: string, nowMs: number): Promise<ShapeChange[]>
  /** Discards the removals that run held back. Returns their number. Throws UsageError if there are none. */
  discardRemovals(runId: number): Promise<number>
  /**
   * Deletes everything that the mirror holds of a customer, and keeps a keyed hash of the id. Throws OrganizationLeased while a
   * run has the organization's lease, and UsageError for an unknown customer. Then call `eraseForgotten`.
   */
  forgetCustomer(asked: Forgetting): Promise<ForgottenCustomer>
  /** Has the bytes that deleted rows left overwritten or freed, and looks for the id in rows of other customers. */
  eraseForgotten(id: string): Promise<Erased>
  /** Lets a forgotten customer come back with the next run. Throws like forgetCustomer. */
  readmitCustomer(asked: Forgetting): Promise<void>
  /** Changes of an organization's customers, in order: a page of them. Throws UsageError where some since then are no longer kept. */
  listChanges(asked: ChangesAsked): Promise<FoundChange[]>
  /** Open rejects: records that are not valid customers and are still received. Newest first. */
  listRejects(filter: { organization?: string | undefined; limit: number }): Promise<StoredReject[]>
  /** How current each organization's rows are. */
  listFreshness(): Promise<Freshness[]>
  /** The same without the counts of customers. */
  listUncountedFreshness(): Promise<UncountedFreshness[]>
  /** How the latest run of one organization, or of each, ended, and when its last complete one began. */
  listLastRuns(filter?: { organization: string }): Promise<LastRun[]>
  /** The latest full runs of these organizations, by organization and then oldest first, at most `limit` of each. */
  listLatestRuns(filter: { organizations: readonly string[]; limit: number }): Promise<LatestRun[]>
  /** The runs that are under way, in any process. `monotonicMs` is the clock of leases. */
  listUnderway(clocks: { nowMs: number; monotonicMs: number | undefined }): Promise<LeasedRun[]>
  /** Reads the whole mirror and returns its damages; empty if there are none. */
  findDamage(): Promise<string[]>
  close(): Promise<void>
}

/** The customer to forget, or to let come back; the id in lower case. `monotonicMs` is the clock of leases. */
export type Forgetting = { organization: string; id: string; nowMs: number; monotonicMs: number | undefined }

/** A customer that was forgotten, now or before, and how many rows of each table were deleted. */
export type ForgottenCustomer = {
  deleted: { customers: number; changes: number; rejects: number }
  forgottenAtMs: number
  wasForgotten: boolean
}

/**
 * What became of the bytes of deleted rows. `busy`: another program, or a full or failing disk, keeps the mirror from erasing them for now.
 * `held`: rows of other customers hold the id. `released`: a server has freed them, and no one can say where else it has written them.
 */
export type Erased = 'erased' | 'busy' | 'held' | 'released'

/** The results of the saved pages, with what was received for the first time in this run. */
export type PagesSaved = Tally & {
  pages: SavedPage[]
  /** How many of the updated rows the interrupted run had read that this one continues. */
  writtenAgain: number
}

/** Customers that are new to one organization and belong to another. */
export type KnownElsewhere = {
  count: number
  /** The organization with most of them; undefined if there are none. */
  mostlyOf: string | undefined
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
  /** Why the last full run, or the last one that read the list to its end, is not proven: its error code, or its reasons. */
  why: string[]
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

/** A policy, and what is left from before it: values that do not follow it yet, or old ones in free space of the file. */
export type StoredPrivacy = { organization: string; policy: HiddenFields; left: 'nothing' | 'values' | 'free space' }

/** Removals of a run that a guard held back. */
export type HeldRemovals = { runId: number; organization: string; held: number; startedAtMs: number }

/** A customer whose removal waits for a decision, and since when the list does not hold them. */
export type HeldCustomer = Listed & { absentSinceMs: number }

/** Which changes to list: of runs after one, or written after a time; at most `limit` after the one numbered `afterSeq`. */
export type ChangesAsked = {
  organization: string
  since: { run: number } | { ms: number }
  afterSeq: number
  limit: number
}

/** A change, with the customer's names of now; `fields` is JSON: changed field → [before, after]. */
export type FoundChange = {
  seq: number
  runId: number
  changedAtMs: number
  change: 'added' | 'changed' | 'removed' | 'returned'
  id: string
  name: string | undefined
  username: string | undefined
  email: string | undefined
  fields: string | undefined
}

/** How a mirror is opened to write. */
export type Opening = {
  /** Ends the wait for a file that another program has locked; meanwhile the event loop goes on, so that signals of the system are heard. */
  signal?: AbortSignal | undefined
  /** Its verbs wait also after that: a worker that is stopped records how its runs ended. */
  waitsOnceStopped?: boolean
}

/** The file at the path of an open mirror: the open file, another one, or none. */
export type Standing = 'same' | 'another' | 'none'
