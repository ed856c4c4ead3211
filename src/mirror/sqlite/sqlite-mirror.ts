import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Organizations } from '../../organizations.ts'
import { endedWell, type LatestRun, type LeasedRun } from '../../report.ts'
import type { Erased, Mirror, Opening, KnownElsewhere, PagesSaved, LastRun } from '../../store.ts'
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
import {
  createIdIndex,
  createIndex,
  forgetInitialIds,
  initialIdsOf,
  lacksIdIndex,
  goByIdIndex,
  rememberIds,
} from './run/id-index.ts'
import { renewLease, findLease, type Clocks } from './run/lease.ts'
import { openFile, type OpenFile } from './opening/open-file.ts'
import { addSaved } from '../pages/page-accounting.ts'
import { listPrivacy, notePurged, rewritePrivacy } from './privacy/privacy.ts'
import { listRejects } from './run/rejects.ts'
import { mayIndexForReaders, missingIndexes } from './reading/reading-indexes.ts'
import { findGone, findListed, findRemovalCandidates } from './removals/removal-candidates.ts'
import { approveRemovals, discardRemovals, listHeldRemovals } from './removals/removals.ts'
import { finishRun, startRun } from './run/runs.ts'
import { findRun, listFreshness, listRuns, listUncountedFreshness } from './reading/stored-runs.ts'
import { withRoomToSort, withoutTemporaryFiles } from './temporary-files.ts'
import { withSetting } from './opening/with-setting.ts'
import { openPatiently, withPatience } from './opening/write-lock.ts'
import { recallWindows } from './run/windows.ts'
import type { Run } from '../../run.ts'
import { isPrivacyOwed } from '../rules/policy-of-rows.ts'
import { deletingSecurely, purge } from './purge.ts'
import { knownElsewhere } from '../rows/known-elsewhere.ts'
import { statement } from './statement.ts'
import type { SortedPage } from '../../sorted-page.ts'
import { decidePages, idsIn } from '../pages/decide-pages.ts'
import { findStored } from './run/stored-customers.ts'
import { writePages } from './run/write-pages.ts'
import { lastRunOf, type LastRunColumns } from '../rows/last-run.ts'
import { firstRunOf, IS_FULL, READ_TO_END } from '../sql/run-conditions.ts'
import {
  LATEST_COLUMNS,
  latestRunOf,
  leasedRunOf,
  UNDERWAY,
  type LatestColumns,
  type UnderwayColumns,
} from '../rows/latest-run.ts'

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

/** Rewrites some of the values that are to be hidden; true while more are left. The last step removes the old ones from the file. */
function applyPrivacy(
  db: Connection,
  { run, nowMs }: { run: Run; nowMs: number },
  { isKept, writeInPlace }: RowWriting,
): boolean {
  if (!isPrivacyOwed(run)) return false
  if (deletingSecurely(db, () => writeInPlace(() => rewritePrivacy(db, run, nowMs)))) return true
  if (isKept && purge(db)) writeInPlace(() => notePurged(db))
  return false
}

/**
 * Each id costs one index look-up for each organization of the file, so the caller passes only a few. The names of organizations come
 * from the index too, with one look-up for each, since `customers` may have millions of rows and `runs` thousands for each.
 */
const FIND = `
  WITH RECURSIVE others (organization) AS (
    SELECT MIN(organization) FROM customers
    UNION ALL
    SELECT (SELECT MIN(organization) FROM customers WHERE organization > others.organization) FROM others
    WHERE others.organization IS NOT NULL
  ),
  unknown (id) AS MATERIALIZED (
    SELECT DISTINCT value FROM json_each(@ids)
    WHERE NOT EXISTS (SELECT 1 FROM customers WHERE organization = @organization AND id = value)
  )
  SELECT unknown.id, others.organization FROM unknown CROSS JOIN others CROSS JOIN customers
    ON customers.organization = others.organization AND customers.id = unknown.id`

/** Counts which of a few ids belong to another organization and are new to this one: a sign of a wrong key or address. */
function findKnownElsewhere(db: Connection, organization: string, ids: readonly string[]): KnownElsewhere {
  // The only organization of a mirror is being read for the first time.
  if (lacksIdIndex(db)) return knownElsewhere([])
  const find = statement<[Record<string, unknown>], { id: string; organization: string }>(db, FIND)
  return knownElsewhere(find.all({ organization, ids: JSON.stringify(ids) }))
}

/**
 * Each transaction writes the same pages of an index again, nearly all of them in an initial sync, since ids are random; and each page is
 * kept in memory until it is saved. Where there is no index of ids, few together are enough.
 */
function pagesAtOnce(run: Run): number {
  return initialIdsOf(run) === undefined ? 64 : 16
}

/**
 * Saves whole pages. The caller holds the transaction, and adds the result to the run after the commit. Throws
 * AccountingBroken, so that the transaction is rolled back, when a page's records are not all accounted for.
 */
export function savePages(db: Connection, run: Run, pages: readonly SortedPage[], nowMs: number): PagesSaved {
  renewLease(db, run, nowMs)
  goByIdIndex(db, run)
  const stored = findStored(db, run, idsIn(pages))
  const decided = decidePages(run, pages, stored)
  writePages(db, run, { decided, stored }, nowMs)
  rememberIds(run, decided.inserted)
  return decided.saved
}

/** The latest run of one organization, or of every one that was ever mirrored. Quick runs are none of them. */
export function listLastRuns(db: Connection, filter?: { organization: string }): LastRun[] {
  const rows =
    filter === undefined
      ? statement<[], LastRunColumns>(db, lastRunsOf(EVERY_ONE)).all()
      : statement<[typeof filter], LastRunColumns>(db, lastRunsOf('SELECT @organization')).all(filter)
  return rows.map(lastRunOf)
}

/** The organizations are found by one seek in an index each, since there may be thousands of runs of each. */
const EVERY_ONE = `
    SELECT MIN(organization) FROM runs WHERE ${IS_FULL}
    UNION ALL
    SELECT (SELECT MIN(organization) FROM runs WHERE ${IS_FULL} AND runs.organization > known.organization)
    FROM known WHERE known.organization IS NOT NULL`

const lastRunsOf = (organizations: string) => `
  WITH RECURSIVE known (organization) AS (${organizations})
  SELECT last.organization, last.started_at, last.finished_at, last.status, last.error_code,
    ${firstRunOf('last.organization')} AS first_run_at,
    (SELECT read_as_of FROM runs WHERE id = (
      SELECT MAX(id) FROM runs
      WHERE runs.organization = last.organization AND ${READ_TO_END})) AS complete_as_of,
    (SELECT error_code FROM runs WHERE id = (
      SELECT MAX(id) FROM runs WHERE runs.organization = last.organization AND status <> 'running' AND id > last.id)) AS quick_error
  FROM known
  JOIN runs AS last ON last.id = (
    SELECT MAX(id) FROM runs WHERE runs.organization = known.organization AND ${IS_FULL})
  ORDER BY last.organization`

/** The latest full runs of these organizations, by organization and then oldest first, at most `limit` of each. */
function listLatestRuns(
  db: Connection,
  { organizations, limit }: { organizations: readonly string[]; limit: number },
): LatestRun[] {
  return statement<[string, number], LatestColumns>(db, LATEST)
    .all(JSON.stringify(organizations), limit)
    .map(latestRunOf)
}

const LATEST = `
  SELECT ${LATEST_COLUMNS}
  FROM json_each(?) AS wanted
  JOIN runs ON runs.id IN (
    SELECT id FROM runs AS own WHERE own.organization = wanted.value AND ${IS_FULL} ORDER BY id DESC LIMIT ?)
  ORDER BY runs.organization, runs.id`

/** The runs that hold the lease of their organization, by organization. */
function listUnderway(db: Connection, clocks: Clocks): LeasedRun[] {
  return statement<[], UnderwayColumns>(db, `${UNDERWAY} ORDER BY runs.organization`)
    .all()
    .filter(({ organization, id }) => findLease(db, organization, clocks)?.run_id === id)
    .map(leasedRunOf)
}
