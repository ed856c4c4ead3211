import type { Report } from '../report.ts'
import type { SortedPage } from '../sorted-page.ts'
import {
  findDamage,
  openDatabase,
  openRehearsal,
  readTransaction,
  writeTransaction,
  type Connection,
} from './database.ts'
import { listFreshness, type Freshness } from './freshness.ts'
import { thisHolder } from './holder.ts'
import { flushJournal, type JournalFlush } from './journal.ts'
import { renewLease } from './lease.ts'
import { findListed, type Listed } from './listed.ts'
import { listLastRuns, type LastRun } from './last-runs.ts'
import { openFile, type OpenFile, type Standing } from './open-file.ts'
import { addSaved, savePages, type PagesSaved } from './pages.ts'
import { listRejects, type StoredReject } from './rejects.ts'
import { findRemovalCandidates, type Candidate } from './removal-candidates.ts'
import {
  approveRemovals,
  discardRemovals,
  listHeldRemovals,
  type HeldRemovals,
  type RemovalRule,
  type RemovingProof,
} from './removals.ts'
import { finishRun, startRun, type Ending, type Run, type Start } from './runs.ts'
import { findRun, listRuns, type StoredRun } from './stored-runs.ts'
import { findStrangers, type Strangers } from './strangers.ts'
import { recallWindows, type RecordedWindow } from './windows.ts'

export { replaced } from './open-file.ts'

/**
 * The SQLite file, through a small set of verbs. Each write is one transaction that first checks that its run still holds
 * its organization. Times are Unix milliseconds. Every verb throws MirrorUnusable when the file fails, and nothing of that
 * transaction is kept.
 */
export type Mirror = {
  readonly file: string
  /** What stands under its name now: the file that is open, another one, or none. */
  standing(): Standing
  /**
   * Starts a run and takes its organization's lease. Throws OrganizationHeld while another run has it. No run is started,
   * saved to or completed once the file was replaced or deleted: these three throw MirrorUnusable `mirror-replaced`.
   */
  startRun(start: Start): Promise<Run>
  /** Saves whole pages together: all of their records, or none. Throws OrganizationHeld if the lease was lost. */
  savePages(run: Run, pages: readonly SortedPage[], nowMs: number): Promise<PagesSaved>
  /** Keeps the organization held while a run waits. Throws OrganizationHeld if the lease was lost. */
  renewLease(run: Run, nowMs: number): Promise<void>
  /** The windows the run went on from, in the order of their positions. To be gone through before anything is saved. */
  recallWindows(run: Run): Promise<Iterable<RecordedWindow>>
  /** Those of a few ids that are known under another organization and not under this one. */
  findStrangers(organization: string, ids: readonly string[]): Promise<Strangers>
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
  /** What SQLite finds wrong with the file when it reads all of it; nothing when it is sound. */
  findDamage(): Promise<string[]>
  close(): Promise<void>
}

/** Opens the mirror at `file` to write; makes it, 0600 in a folder of 0700, where there is none. */
export async function openMirror(file: string): Promise<Mirror> {
  const db = openDatabase(file, 'write')
  return mirrorOf(file, db, { journal: flushJournal(file), place: openFile(file) })
}

/** Opens the mirror at `file` to read. Throws MirrorUnusable `mirror-missing` where there is none. */
export async function openMirrorToRead(file: string): Promise<Mirror> {
  return mirrorOf(file, openDatabase(file, 'read'))
}

/**
 * A mirror that starts out as the one at `file` and forgets everything written to it, for a dry run. Holds a private copy
 * of the given organizations, which nothing survives: not even a killed process leaves it behind.
 */
export async function rehearseMirror(file: string, organizations: readonly string[]): Promise<Mirror> {
  return mirrorOf(file, openRehearsal(file, organizations))
}

/** A rehearsal has no file of its own, and a mirror that is only read need not know what becomes of it. */
type Written = { journal: JournalFlush; place: OpenFile }

function mirrorOf(file: string, db: Connection, { journal, place }: Partial<Written> = {}): Mirror {
  const holder = thisHolder()
  /** One transaction, after which everything that was written is found under the name of the mirror. */
  const writeInPlace = <Result>(work: () => Result): Result =>
    writeTransaction(db, file, () => {
      place?.requireInPlace()
      const result = work()
      place?.requireInPlace()
      return result
    })
  return {
    file,
    standing: () => place?.standing() ?? 'same',
    startRun: async (start) => writeInPlace(() => startRun(db, start, holder)),
    savePages: async (run, pages, nowMs) => {
      const saved = writeInPlace(() => savePages(db, run, pages, nowMs))
      addSaved(run, saved)
      journal?.wrote(saved.records.inserted + saved.records.updated)
      return saved
    },
    renewLease: async (run, nowMs) => writeTransaction(db, file, () => renewLease(db, run, nowMs)),
    recallWindows: async (run) => recallWindows(db, run),
    findStrangers: async (organization, ids) => readTransaction(db, file, () => findStrangers(db, organization, ids)),
    findRemovalCandidates: async (run, ending) =>
      readTransaction(db, file, () => findRemovalCandidates(db, run, ending)),
    findListed: async (run, most) => readTransaction(db, file, () => findListed(db, run, most)),
    // One that failed is written down wherever its file is by now.
    finishRun: async (run, ending, nowMs) =>
      ending.status === 'complete'
        ? writeInPlace(() => finishRun(db, run, ending, nowMs))
        : writeTransaction(db, file, () => finishRun(db, run, ending, nowMs)),
    listRuns: async (filter) => readTransaction(db, file, () => listRuns(db, filter)),
    findRun: async (id) => readTransaction(db, file, () => findRun(db, id)),
    listHeldRemovals: async () => readTransaction(db, file, () => listHeldRemovals(db)),
    approveRemovals: async (runId, nowMs) => writeTransaction(db, file, () => approveRemovals(db, runId, nowMs)),
    discardRemovals: async (runId) => writeTransaction(db, file, () => discardRemovals(db, runId)),
    listRejects: async (filter) => readTransaction(db, file, () => listRejects(db, filter)),
    listFreshness: async () => readTransaction(db, file, () => listFreshness(db)),
    listLastRuns: async () => readTransaction(db, file, () => listLastRuns(db)),
    findDamage: async () => readTransaction(db, file, () => findDamage(db)),
    close: async () => {
      place?.letGo(db)
      await journal?.close()
      db.close()
    },
  }
}
