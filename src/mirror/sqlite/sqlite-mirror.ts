import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Organizations } from '../../organizations.ts'
import { endedWell } from '../../report.ts'
import type { Erased, Mirror, Opening } from '../../store.ts'
import { MirrorUnusable } from '../../errors/errors.ts'
import {
  findDamage,
  openDatabase,
  openTemporary,
  readTransaction,
  writeTransaction,
  type Connection,
  type RowWriting,
} from './opening/database.ts'
import { fingerprintKeyOf } from './fingerprint-key.ts'
import { identityOf } from '../fingerprint-of-run.ts'
import { requireVersion } from './opening/schema.ts'
import type * as Erase from './forget/erase.ts'
import type * as Rehearsal from './rehearsal.ts'
import { nameOfProcess } from '../../machine/process-name.ts'
import { createIdIndex, createIndex, forgetInitialIds, initialIdsOf, lacksIdIndex } from './run/id-index.ts'
import { renewLease } from './run/lease.ts'
import { openFile, type OpenFile } from './opening/open-file.ts'
import { addSaved } from '../pages/page-accounting.ts'
import { pagesAtOnce, savePages } from './run/pages.ts'
import { applyPrivacy } from './privacy/apply-privacy.ts'
import { listPrivacy } from './privacy/privacy.ts'
import { listRejects } from './run/rejects.ts'
import { mayIndexForReaders, missingIndexes } from './reading/reading-indexes.ts'
import { findGone, findListed, findRemovalCandidates } from './removals/removal-candidates.ts'
import { approveRemovals, discardRemovals, listHeldRemovals } from './removals/removals.ts'
import { finishRun, startRun } from './run/runs.ts'
import { listLastRuns } from './reading/last-runs.ts'
import { listLatestRuns, listUnderway } from './reading/overview.ts'
import { findRun, listFreshness, listRuns, listUncountedFreshness } from './reading/stored-runs.ts'
import { findKnownElsewhere } from './reading/known-elsewhere.ts'
import { withRoomToSort, withoutTemporaryFiles } from './temporary-files.ts'
import { withSetting } from './opening/with-setting.ts'
import { openPatiently, withPatience } from './opening/write-lock.ts'
import { recallWindows } from './run/windows.ts'

/** Opens the mirror at `file` to write; creates it, 0600 in a folder of 0700, if there is none. */
export async function openMirror(file: string, { signal, waitsOnceStopped = false }: Opening = {}): Promise<Mirror> {
  const db = await openPatiently(file, signal)
  return withPatience(mirrorOf(file, db, openFile(file)), db, waitsOnceStopped ? undefined : signal)
}

/** Opens the mirror at `file` to read. Throws MirrorUnusable `missing` if there is none. */
export async function openMirrorToRead(file: string): Promise<Mirror> {
  return mirrorOf(file, openDatabase(file, 'read'))
}

/**
 * A temporary mirror for a dry run, with a private copy of the given organizations from the one at `file`. Nothing of it remains,
 * even if the process is killed. A full run reads every record there; `withLists`, for a quick run, copies the lists as last read.
 */
export async function rehearseMirror(...asked: Parameters<typeof Rehearsal.openRehearsal>): Promise<Mirror> {
  const { openRehearsal } = await import('./rehearsal.ts')
  return mirrorOf(asked[0], await openRehearsal(...asked))
}

/** A temporary mirror for a dry run of one that is elsewhere; `fill` copies the rows, in a transaction. */
export async function rehearseElsewhere(address: string, fill: (db: Connection) => Promise<unknown>): Promise<Mirror> {
  const db = openTemporary()
  try {
    db.exec('BEGIN')
    await fill(db)
    db.exec('COMMIT')
    return mirrorOf(address, db)
  } catch (error) {
    db.close()
    throw error
  }
}

/** The organizations of the mirror at `file`, to change them as a whole. Throws MirrorUnusable `missing` if there is none. */
export async function openOrganizations(file: string): Promise<Organizations> {
  const organizations = await import('./organizations/organizations.ts')
  return organizations.openOrganizations(file)
}

/** As `erase.ts` has it, which is loaded only when it is called. */
export async function eraseTraces(...args: Parameters<typeof Erase.eraseTraces>): Promise<Erased> {
  const erase = await import('./forget/erase.ts')
  return erase.eraseTraces(...args)
}

/** `place` only for a mirror that is written: a rehearsal has no file, and a reader does not watch its file. */
function mirrorOf(file: string, db: Connection, place?: OpenFile): Mirror {
  /** One transaction, only if the path of the mirror still leads to the open file, and no other version has changed it since it was opened. */
  const writeInPlace = <Result>(work: () => Result): Result =>
    writeTransaction(db, file, () => {
      place?.requireInPlace()
      requireVersion(db, file)
      const result = work()
      place?.requireInPlace()
      return result
    })
  const writeRows = <Result>(work: () => Result): Result => withoutTemporaryFiles(db, () => writeInPlace(work))
  const readSnapshot = <Result>(work: () => Result): Result => readTransaction(db, file, work)
  /** An index of a hundred thousand customers is created in 0.1 s. Afterwards other runs and health checks have a turn. */
  const create: Create = async (work) => {
    withRoomToSort(db, () => writeInPlace(() => work(db)))
    await nextTurn()
  }
  const rowWriting = { isKept: place !== undefined, writeInPlace: writeRows }
  return {
    file,
    standing: () => place?.standing() ?? 'same',
    startRun: async (start) => withRoomToSort(db, () => writeInPlace(() => startRun(db, start, HOLDER))),
    applyPrivacy: async (run, nowMs) => applyPrivacy(db, { run, nowMs }, rowWriting),
    pagesAtOnce,
    savePages: async (run, pages, nowMs) => {
      // Where another program wrote to the file in an initial sync, the index of ids is created here.
      const isInitial = initialIdsOf(run) !== undefined
      const save = () => savePages(db, run, pages, nowMs)
      // Where all customers are known, hardly a row is written.
      const isAnySorted = pages.some(({ customers }) => customers.length > 0)
      const saved = isAnySorted && !isInitial ? writeRows(save) : withRoomToSort(db, () => writeInPlace(save))
      addSaved(run, saved)
      return saved
    },
    renewLease: async (run, nowMs) => writeTransaction(db, file, () => renewLease(db, run, nowMs)),
    recallWindows: async (run) => recallWindows(db, run),
    findKnownElsewhere: async (organization, ids) => readSnapshot(() => findKnownElsewhere(db, organization, ids)),
    findRemovalCandidates: async (run, ending) => readSnapshot(() => findRemovalCandidates(db, run, ending)),
    findGone: async (run, rowIds) => readSnapshot(() => findGone(db, run, rowIds)),
    findListed: async (run, most) => readSnapshot(() => findListed(db, run, most)),
    // A failed run is recorded in its file, even if that was moved away.
    finishRun: async (run, ending, nowMs) => {
      const finish = () => finishRun(db, run, ending, nowMs)
      forgetInitialIds(db, run)
      if (!endedWell(ending)) return writeTransaction(db, file, finish)
      // What ends a run reads all ids of its organization, and the next one needs their index.
      if (lacksIdIndex(db)) await create(createIdIndex)
      const report = withSetting(db, FLUSHED_COMMITS, () => writeRows(finish))
      if (place !== undefined && mayIndexForReaders(db, nowMs)) await indexForReaders(db, create)
      return report
    },
    approveRemovals: async (runId, nowMs) =>
      withoutTemporaryFiles(db, () => writeTransaction(db, file, () => approveRemovals(db, runId, nowMs))),
    discardRemovals: async (runId) => writeTransaction(db, file, () => discardRemovals(db, runId)),
    ...readingVerbs(db, file),
    ...rareVerbs(db, file, rowWriting),
    close: async () => {
      place?.letGo(db)
      db.close()
    },
  }
}

/** This process, as it was named at first: a machine may get another name. */
const HOLDER = nameOfProcess()

/**
 * A commit returns once the WAL is on the disk: a run that was reported is not undone by a loss of power, and the numbers of its changes are
 * not given out again. Within a transaction, this setting cannot be changed.
 */
const FLUSHED_COMMITS = { during: 'synchronous = FULL', after: 'synchronous = NORMAL' }

type Create = (work: (db: Connection) => void) => Promise<void>

/** One index at a time. The run is complete without them, and the next one tries again. */
async function indexForReaders(db: Connection, create: Create): Promise<void> {
  try {
    for (const index of missingIndexes(db)) await create(() => createIndex(db, index))
  } catch (error) {
    if (!(error instanceof MirrorUnusable)) throw error
  }
}

type Rare = Pick<Mirror, 'forgetCustomer' | 'readmitCustomer' | 'prune'>

/** Verbs that few commands and runs need: each is loaded when it is called. */
function rareVerbs(db: Connection, file: string, writing: RowWriting): Rare {
  const forget = async () => (await import('./forget/forget.ts')).forgetting(db, file)
  let prune: Mirror['prune'] | undefined
  return {
    forgetCustomer: async (asked) => (await forget()).forgetCustomer(asked),
    readmitCustomer: async (asked) => (await forget()).readmitCustomer(asked),
    prune: async (...args) => {
      const { pruning } = await import('./retention/retention-verbs.ts')
      prune ??= pruning(db, writing)
      return prune(...args)
    },
  }
}

/** The verbs that read what earlier runs left. Each reads one state of the file. */
function readingVerbs(db: Connection, file: string) {
  return {
    identity: async () => readTransaction(db, file, () => identityOf(fingerprintKeyOf(db))),
    listRuns: async (filter) => readTransaction(db, file, () => listRuns(db, filter)),
    findRun: async (id) => readTransaction(db, file, () => findRun(db, id)),
    listHeldRemovals: async () => readTransaction(db, file, () => listHeldRemovals(db)),
    listPrivacy: async () => readTransaction(db, file, () => listPrivacy(db)),
    listRejects: async (filter) => readTransaction(db, file, () => listRejects(db, filter)),
    listFreshness: async () => readTransaction(db, file, () => listFreshness(db)),
    listUncountedFreshness: async () => readTransaction(db, file, () => listUncountedFreshness(db)),
    listLastRuns: async (filter) => readTransaction(db, file, () => listLastRuns(db, filter)),
    listLatestRuns: async (filter) => readTransaction(db, file, () => listLatestRuns(db, filter)),
    listUnderway: async (clocks) => readTransaction(db, file, () => listUnderway(db, clocks)),
    findDamage: async () => readTransaction(db, file, () => findDamage(db)),
  } satisfies Partial<Mirror>
}
