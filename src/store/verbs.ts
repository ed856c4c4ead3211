import type { Mirror, Standing } from '../model/mirror.ts'
import { endedWell } from '../model/report.ts'
import type { Run } from '../model/run.ts'
import { findGone, findListed, findRemovalCandidates } from './absent/candidates.ts'
import { approveRemovals, discardRemovals, listHeldCustomers, listHeldRemovals } from './absent/removals.ts'
import { forgetting } from './forget.ts'
import { addSaved } from './pages/decide-pages.ts'
import type { Session, Store } from './port/store.ts'
import { privacyVerbs } from './privacy.ts'
import {
  findKnownElsewhere,
  findRun,
  listChanges,
  listFreshness,
  listLastRuns,
  listLatestRuns,
  listRejects,
  listRuns,
  listUncountedFreshness,
  listUnderway,
  requireReadableTimes,
} from './reading.ts'
import { indexingForReaders } from './reading-indexes.ts'
import { pruning } from './retention.ts'
import { finishRun } from './runs/finish-run.ts'
import { renewLease } from './runs/lease.ts'
import { recallWindows } from './runs/list-memory.ts'
import { acceptShape } from './runs/shape.ts'
import { identityOf, startRun } from './runs/start-run.ts'

export type Own = {
  /** A server keeps what is opened. */
  standing?: () => Standing
  savePages: Mirror['savePages']
  /** Around an initial sync: called in the transaction that begins a run, and before the one that ends it. */
  began?: (run: Run) => void
  ending?: (run: Run, isWell: boolean) => Promise<void>
  pagesAtOnce?: (run: Run) => number
  isTemporary?: boolean
  findDamage?: () => string[]
}

/** The verbs of a mirror. Each write is one transaction. */
export function mirrorOn(store: Store, own: Own): Mirror {
  const { read, write } = store
  const indexForReaders = own.isTemporary === true ? async () => {} : indexingForReaders(store)
  return {
    file: store.place,
    standing: own.standing ?? (() => 'same'),
    identity: () => read(identityOf),
    startRun: (start) => {
      const begin = async (session: Session) => {
        const run = await startRun(session, start, store.place)
        own.began?.(run)
        return run
      }
      return write(begin, {}, start)
    },
    pagesAtOnce: (run) => own.pagesAtOnce?.(run) ?? 64,
    savePages: async (run, pages, nowMs, onWaiting) => {
      const saved = await own.savePages(run, pages, nowMs, onWaiting)
      addSaved(run, saved)
      return saved
    },
    renewLease: (run, nowMs) => write((session) => renewLease(session, run, nowMs), { anywhere: true }),
    recallWindows: (run) => read((session) => recallWindows(session, run)),
    findKnownElsewhere: (organization, ids) => read((session) => findKnownElsewhere(session, organization, ids)),
    findRemovalCandidates: (run, ending) => read((session) => findRemovalCandidates(session, run, ending)),
    findGone: (run, rowIds) => read((session) => findGone(session, run, rowIds)),
    findListed: (run, most) => read((session) => findListed(session, run, most)),
    finishRun: async (run, ending, nowMs) => {
      // A failed run is recorded in its file, even if that was moved away.
      const isWell = endedWell(ending)
      await own.ending?.(run, isWell)
      const end = (session: Session) => finishRun(session, run, ending, nowMs)
      const report = await write(end, { durably: isWell, anywhere: !isWell }, ending)
      if (isWell) await indexForReaders()
      return report
    },
    prune: pruning(store),
    listRuns: (filter) => read((session) => listRuns(session, filter)),
    findRun: (id) => read((session) => findRun(session, id)),
    listHeldRemovals: () => read(listHeldRemovals),
    listHeldCustomers: (runId) => read((session) => listHeldCustomers(session, runId)),
    approveRemovals: (runId, nowMs) => write((session) => approveRemovals(session, runId, nowMs)),
    acceptShape: (organization, nowMs) => write((session) => acceptShape(session, organization, nowMs)),
    discardRemovals: (runId) => write((session) => discardRemovals(session, runId)),
    ...forgetting(store),
    ...privacyVerbs(store),
    listChanges: (asked) => read((session) => listChanges(session, asked)),
    listRejects: (filter) => read((session) => listRejects(session, filter)),
    listFreshness: () => read(listFreshness),
    listUncountedFreshness: () => read(listUncountedFreshness),
    listLastRuns: (filter) => read((session) => listLastRuns(session, filter)),
    listLatestRuns: (filter) => read((session) => listLatestRuns(session, filter)),
    listUnderway: (clocks) => read((session) => listUnderway(session, clocks)),
    findDamage: () =>
      read(async (session) => {
        const damage = own.findDamage?.() ?? []
        if (damage.length === 0) await requireReadableTimes(session)
        return damage
      }),
    close: () => store.close(),
  }
}
