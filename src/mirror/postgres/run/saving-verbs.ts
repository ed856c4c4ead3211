import pLimit from 'p-limit'
import type { Mirror } from '../../../store.ts'
import { finishRun } from './finish-run.ts'
import { findGone, findListed, findRemovalCandidates } from '../removals/removal-candidates.ts'
import { approveRemovals, discardRemovals, listHeldRemovals } from '../removals/removals.ts'
import { savePages } from './save-pages.ts'
import { hasEnded, isDecided } from './still-there.ts'
import type { Database } from '../session.ts'

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
