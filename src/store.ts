import type { Warnings } from './customer.ts'
import type { Proof, RecordCounts, Report, RunStatus } from './report.ts'
import type { RowSet } from './row-set.ts'
import type { Candidate, Ending, Listed, RecordedWindow, RemovalRule, RemovingProof, Run, Start } from './run.ts'
import type { SavedPage, SortedPage } from './sorted-page.ts'

/**
 * A mirror, through a small set of verbs. Each write is one transaction that first checks that its run still holds
 * its organization. Times are Unix milliseconds. Every verb throws MirrorUnusable when the file fails, and nothing of that
 * transaction is kept.
 */
export type Mirror = {
  readonly file: string
  /** What stands under its name now: the file that is open, another one, or none. */
  standing(): Standing
  /**
   * Starts a run and takes its organization's lease. Throws OrganizationLeased while another run has it. No run is started,
   * saved to or completed once the file was replaced or deleted: these three throw MirrorUnusable `mirror-replaced`.
   */
  startRun(start: Start): Promise<Run>
  /** Saves whole pages together: all of their records, or none. Throws OrganizationLeased if the lease was lost. */
  savePages(run: Run, pages: readonly SortedPage[], nowMs: number): Promise<PagesSaved>
  /** Keeps the organization leased while a run waits. Throws OrganizationLeased if the lease was lost. */
  renewLease(run: Run, nowMs: number): Promise<void>
  /** The windows the run went on from, in the order of their positions. To be gone through before anything is saved. */
  recallWindows(run: Run): Promise<Iterable<RecordedWindow>>
  /** Those of a few ids that are known under another organization and not under this one. */
  findKnownElsewhere(organization: string, ids: readonly string[]): Promise<KnownElsewhere>
  /** The customers whom a scan that ended so is about to remove, to be searched for before. */
  findRemovalCandidates(run: Run, ending: { rule: RemovalRule; proof: RemovingProof }): Promise<Candidate[]>
  /** Customers the run has received, to try searches on; at most `most`. */
  findListed(run: Run, most: number): Promise<Listed[]>
  /** Ends a run, gives its organization back, and tells what it did. */
  finishRun(run: Run, ending: Ending, nowMs: number): Promise<Report>
  /** The latest runs, newest first, of one organization or of all. */
  listRuns(filter: { organization?: string | undefined; limit: number }): Promise<Report[]>
  /** One run; undefined when there is none of that number. */
  findRun(id: number): Promise<StoredRun | undefined>
  /** Removals that a guard held back and nobody decided yet, newest run first. */
  listHeldRemovals(): Promise<HeldRemovals[]>
  /** Removes the customers whose removal that run held back; how many. Throws UsageError when it holds none. */
  approveRemovals(runId: number, nowMs: number): Promise<number>
  /** Forgets what that run held back; how many. Throws UsageError when it holds none. */
  discardRemovals(runId: number): Promise<number>
  /** Records that are no valid customers and still keep coming, newest first. */
  listRejects(filter: { organization?: string | undefined; limit: number }): Promise<StoredReject[]>
  /** How current each organization's rows are. */
  listFreshness(): Promise<Freshness[]>
  /** How each organization's latest run ended, and when its last complete one began. */
  listLastRuns(): Promise<LastRun[]>
  /** What is wrong with the mirror when all of it is read; nothing when it is sound. */
  findDamage(): Promise<string[]>
  close(): Promise<void>
}

/** What became of the records of the pages saved. */
export type PagesSaved = {
  pages: SavedPage[]
  records: RecordCounts
  warnings: Warnings
  /** Rows of `customers` received for the first time in this run, and ids received in rejects for the first time. */
  seen: RowSet
  rejectedIds: Set<string>
  /** Rows of `customers` that were written again. */
  written: RowSet
}

/** Customers that are new to an organization and known under another one. */
export type KnownElsewhere = {
  count: number
  /** The organization that has most of them; undefined when there are none. */
  mostlyOf: string | undefined
}

/** How current an organization's rows are. Times in Unix milliseconds, each the start of a scan; undefined while there is none. */
export type Freshness = {
  organization: string
  /** The last run that read the list to its end, whatever it proved. */
  readAsOfMs: number | undefined
  /** The last run whose scan is proven. */
  provenAsOfMs: number | undefined
  /** The last run that proved what its configuration asked of it: proven, converged, or a plain scan. */
  dataAsOfMs: number | undefined
  proof: Proof | undefined
  lastRunId: number
  lastStatus: RunStatus
  active: number
  missing: number
  removed: number
  /** Removals held back that wait for a decision. */
  held: number
  openRejects: number
  /** Why the last run, or the last one that read the list to its end, proved nothing: its error code, or its reasons. */
  why: string[]
}

/** How an organization's latest run ended, and since when its rows are known to be whole. Times in Unix milliseconds. */
export type LastRun = {
  organization: string
  startedAtMs: number
  status: RunStatus
  errorCode: string | undefined
  /** Start of the last run that read the list to its end, whatever it proved: `read_as_of`; undefined while there is none. */
  completeAsOfMs: number | undefined
}

/** A run with what only a single one is asked for: what its proof rests on. */
export type StoredRun = Report & { certificate: unknown }

/** A reject as it stands in the mirror. Times are Unix milliseconds. */
export type StoredReject = {
  organization: string
  runId: number
  recordId: string | null
  page: number
  position: number
  payload: string
  reasons: { field: string; message: string }[]
  seenAtMs: number
}

/** Removals of a run that a guard held back. */
export type HeldRemovals = { runId: number; organization: string; held: number; startedAtMs: number }

/** What stands under the name of an open mirror now: the file that is open, another one, or none. */
export type Standing = 'same' | 'another' | 'none'
