import type { PagesSaved, Standing, UncountedFreshness } from '../model/mirror.ts'
import type { SortedPage } from '../model/page.ts'
import { endedWell, type Report } from '../model/report.ts'
import type { Ending, Run, Start } from '../model/run.ts'
import { findGone, findListed, findRemovalCandidates } from './absent/candidates.ts'
import { approveRemovals, discardRemovals, listHeldCustomers, listHeldRemovals } from './absent/removals.ts'
import { forgetting } from './forget.ts'
import { organizationsIn } from './organizations.ts'
import { addSaved } from './pages/decide-pages.ts'
import type { Session, Store, Writing } from './port/store.ts'
import { privacyVerbs } from './privacy.ts'
import {
  findKnownElsewhere,
  findRun,
  listChanges,
  listFreshness,
  listKilled,
  listLastRuns,
  listLatestRuns,
  listRejects,
  listRuns,
  listUnderway,
  requireReadableTimes,
} from './reading.ts'
import { indexingForReaders } from './reading-indexes.ts'
import { pruning } from './retention.ts'
import { finishRun } from './runs/finish-run.ts'
import { renewLease } from './runs/lease.ts'
import { recallWindows } from './runs/list-memory.ts'
import { acceptShape } from './runs/shape.ts'
import { mirrorIdentity, startRun } from './runs/start-run.ts'

export type Own = {
  /** A server keeps what is opened. */
  standing?: () => Standing
  savePages: SavePages
  /** Around an initial sync: called in the transaction that begins a run, and before the one that ends it. */
  began?: (run: Run) => void
  ending?: (run: Run, isWell: boolean) => Promise<void>
  pagesAtOnce?: (run: Run) => number
  isTemporary?: boolean
  findDamage?: () => string[]
}

/** What a person decided and was told is not taken back by a loss of power. */
const DECIDED: Writing = { durably: true }

type SavePages = (run: Run, pages: readonly SortedPage[], nowMs: number, onWaiting?: () => void) => Promise<PagesSaved>

/**
 * A mirror, through a small set of verbs. Each write is one transaction that first checks that its run still holds its lease. Times are Unix
 * milliseconds. Every verb throws MirrorUnusable when the file fails; that transaction is rolled back.
 */
export type Mirror = ReturnType<typeof mirrorOn>

export function mirrorOn(store: Store, own: Own) {
  const { read, write } = store
  const indexForReaders = own.isTemporary === true ? async () => {} : indexingForReaders(store)
  const reading =
    <Asked extends unknown[], Found>(verb: (session: Session, ...asked: Asked) => Promise<Found>) =>
    (...asked: Asked): Promise<Found> =>
      read((session) => verb(session, ...asked))
  const writing =
    <Asked extends unknown[], Done>(verb: (session: Session, ...asked: Asked) => Promise<Done>, how?: Writing) =>
    (...asked: Asked): Promise<Done> =>
      write((session) => verb(session, ...asked), how)
  return {
    file: store.place,
    /** Whether the path of the mirror still leads to the open file. */
    standing: own.standing ?? ((): Standing => 'same'),
    identity: reading(mirrorIdentity),
    /** After the file was replaced or deleted, starting, saving and completing a run throw MirrorUnusable `replaced`. */
    startRun: (start: Start): Promise<Run> => {
      const begin = async (session: Session) => {
        const run = await startRun(session, start, store.place)
        own.began?.(run)
        return run
      }
      return write(begin, {}, start)
    },
    /** How many pages of a run are best saved together, where they come faster than they can be saved. */
    pagesAtOnce: (run: Run): number => own.pagesAtOnce?.(run) ?? 64,
    /** Saves whole pages together, or none. Throws OrganizationLeased if the lease was lost. Calls `onWaiting` once this process can only wait. */
    savePages: async (...asked: Parameters<SavePages>): Promise<PagesSaved> => {
      const saved = await own.savePages(...asked)
      addSaved(asked[0], saved)
      return saved
    },
    renewLease: writing(renewLease, { anywhere: true }),
    recallWindows: reading(recallWindows),
    findKnownElsewhere: reading(findKnownElsewhere),
    findRemovalCandidates: reading(findRemovalCandidates),
    findGone: reading(findGone),
    findListed: reading(findListed),
    finishRun: async (run: Run, ending: Ending, nowMs: number): Promise<Report> => {
      // A failed run is recorded in its file, even if that was moved away.
      const isWell = endedWell(ending)
      await own.ending?.(run, isWell)
      const end = (session: Session) => finishRun(session, run, ending, nowMs)
      const report = await write(end, { durably: isWell, anywhere: !isWell }, ending)
      if (isWell) await indexForReaders()
      return report
    },
    prune: pruning(store),
    listRuns: reading(listRuns),
    findRun: reading(findRun),
    listHeldRemovals: reading(listHeldRemovals),
    listHeldCustomers: reading(listHeldCustomers),
    approveRemovals: writing(approveRemovals, DECIDED),
    acceptShape: writing(acceptShape, DECIDED),
    discardRemovals: writing(discardRemovals, DECIDED),
    ...forgetting(store),
    ...privacyVerbs(store),
    organizations: organizationsIn(store),
    listChanges: reading(listChanges),
    listRejects: reading(listRejects),
    listFreshness: reading((session) => listFreshness(session)),
    listUncountedFreshness: reading((session): Promise<UncountedFreshness[]> => listFreshness(session, '')),
    listLastRuns: reading(listLastRuns),
    listLatestRuns: reading(listLatestRuns),
    listUnderway: reading(listUnderway),
    listKilled: reading(listKilled),
    /** Reads the whole mirror and returns its damages; empty if there are none. */
    findDamage: (): Promise<string[]> =>
      read(async (session) => {
        const damage = own.findDamage?.() ?? []
        if (damage.length === 0) await requireReadableTimes(session)
        return damage
      }),
    close: (): Promise<void> => store.close(),
  }
}
