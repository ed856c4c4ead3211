import type { Organizations } from '../../organizations.ts'
import { endedWell } from '../../report.ts'
import type { Erased, Mirror, Traces } from '../../store.ts'
import { openDatabase } from './opening/database.ts'
import type * as Rehearsal from './rehearsal.ts'
import { readingIndexes } from './reading/reading-indexes.ts'
import { readingVerbs } from './reading/reading-verbs.ts'
import type { Database } from './session.ts'
import { isPrivacyOwed } from '../rules/policy-of-rows.ts'
import { HOLDER, renewLease } from './run/lease.ts'
import { startRun } from './run/start-run.ts'
import { isBegun, hasEnded, isDecided } from './run/still-there.ts'
import { recallWindows } from './run/windows.ts'
import pLimit from 'p-limit'
import { finishRun } from './run/finish-run.ts'
import { findGone, findListed, findRemovalCandidates } from './removals/removal-candidates.ts'
import { approveRemovals, discardRemovals, listHeldRemovals } from './removals/removals.ts'
import { savePages } from './run/save-pages.ts'

/** Opens the mirror at `address` to write; makes its schema if there is none. */
export async function openMirror(address: string): Promise<Mirror> {
  return mirrorIn(await openDatabase(address, 'write'))
}

/** Opens the mirror at `address` to read. Throws MirrorUnusable `missing` if there is none. */
export async function openMirrorToRead(address: string): Promise<Mirror> {
  return mirrorIn(await openDatabase(address, 'read'))
}

/** As `rehearsal.ts` has it, which is loaded only when it is called. */
export async function rehearseMirror(...asked: Parameters<typeof Rehearsal.rehearseMirror>): Promise<Mirror> {
  return (await import('./rehearsal.ts')).rehearseMirror(...asked)
}

/** The organizations of the mirror at `address`, to change them as a whole. Throws MirrorUnusable `missing` if there is none. */
export async function openOrganizations(address: string): Promise<Organizations> {
  const { organizationsIn } = await import('./organizations/organizations.ts')
  // To read first, since no mirror is made here.
  await (await openDatabase(address, 'read')).close()
  return organizationsIn(await openDatabase(address, 'write'))
}

/** Has the server erase what is left of a forgotten customer; see `erase.ts`. */
export async function eraseTraces(address: string, traces: Traces): Promise<Erased> {
  const erase = await import('./forget/erase.ts')
  const database = await openDatabase(address, 'write')
  try {
    return await erase.eraseTraces(database, traces)
  } finally {
    await database.close()
  }
}

function mirrorIn(database: Database): Mirror {
  const saving = savingVerbs(database)
  const indexForReaders = readingIndexes(database)
  return {
    file: database.address,
    ...runVerbs(database),
    ...saving,
    finishRun: async (run, ending, nowMs) => {
      const report = await saving.finishRun(run, ending, nowMs)
      if (endedWell(ending)) await indexForReaders()
      return report
    },
    ...readingVerbs(database),
    ...rareVerbs(database),
    close: () => database.close(),
  }
}

type Rare = Pick<Mirror, 'forgetCustomer' | 'readmitCustomer' | 'prune' | 'applyPrivacy' | 'listPrivacy'>

/** Verbs that few commands and runs need: each is loaded when it is called. */
export function rareVerbs(database: Database): Rare {
  const forget = async () => (await import('./forget/forget.ts')).forgetting(database)
  const privacy = async () => (await import('./privacy/privacy-verbs.ts')).privacyVerbs(database)
  return {
    forgetCustomer: async (asked) => (await forget()).forgetCustomer(asked),
    readmitCustomer: async (asked) => (await forget()).readmitCustomer(asked),
    prune: async (...args) => (await import('./retention/prune.ts')).prune(database, ...args),
    applyPrivacy: async (run, nowMs) => {
      if (!isPrivacyOwed(run)) return false
      return (await privacy()).applyPrivacy(run, nowMs)
    },
    listPrivacy: async () => (await privacy()).listPrivacy(),
  }
}

type RunVerbs = Pick<Mirror, 'standing' | 'startRun' | 'renewLease' | 'recallWindows'>

/** The verbs by which a run begins and goes on. */
export function runVerbs(database: Database): RunVerbs {
  const { address } = database
  return {
    // A database is not moved away under an open connection.
    standing: () => 'same',
    startRun: (start) =>
      database.write(
        (session) => startRun(session, start, { holder: HOLDER, address }),
        start,
        (session, run) => isBegun(session, run),
      ),
    renewLease: (run) => database.write((session) => renewLease(session, run)),
    recallWindows: (run) => database.read((session) => recallWindows(session, run)),
  }
}

type Saving =
  | 'pagesAtOnce'
  | 'savePages'
  | 'finishRun'
  | 'findRemovalCandidates'
  | 'findGone'
  | 'findListed'
  | 'listHeldRemovals'
  | 'approveRemovals'
  | 'discardRemovals'

/**
 * Saves at once, at most. The server gives one after the other its stamp: while one is written, the next is prepared. A third would only
 * wait there, with its pages in memory, and costs the server: with four, an initial sync of eight organizations took 3 % longer.
 */
const SAVES_AT_ONCE = 2

/** With more, they wait longer in memory; with fewer, the server works more for each. */
const PAGES_AT_ONCE = 64

/** The verbs that save what a run reads, and decide about what it did not read. Each is one transaction. */
export function savingVerbs(database: Database): Pick<Mirror, Saving> {
  const turns = pLimit(SAVES_AT_ONCE)
  return {
    pagesAtOnce: () => PAGES_AT_ONCE,
    savePages: (run, pages, nowMs, onWaiting) => turns(() => savePages(database, run, pages, { nowMs, onWaiting })),
    finishRun: (run, ending, nowMs) =>
      database.write(
        (session) => finishRun(session, run, ending, nowMs),
        ending,
        (session, report) => hasEnded(session, run, report),
      ),
    findRemovalCandidates: (run, ending) => database.read((session) => findRemovalCandidates(session, run, ending)),
    findGone: (run, rowIds) => database.read((session) => findGone(session, run, rowIds)),
    findListed: (run, most) => database.read((session) => findListed(session, run, most)),
    listHeldRemovals: () => database.read(listHeldRemovals),
    approveRemovals: (runId, nowMs) =>
      database.write(
        (session) => approveRemovals(session, runId, nowMs),
        undefined,
        (session, removed) => isDecided(session, runId, { removed, nowMs }),
      ),
    discardRemovals: (runId) =>
      database.write(
        (session) => discardRemovals(session, runId),
        undefined,
        (session) => isDecided(session, runId),
      ),
  }
}
