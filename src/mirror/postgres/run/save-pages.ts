import type { Run } from '../../../run.ts'
import type { PagesSaved } from '../../../store.ts'
import { MirrorUnusable } from '../../../errors/errors.ts'
import { decidePages, idsIn, type PagesDecided, type Stored } from '../../pages/decide-pages.ts'
import { addSaved } from '../../pages/page-accounting.ts'
import { notTaken, requireTaken } from '../../pages/rows-taken.ts'
import { dropTextIndexes } from '../reading/reading-indexes.ts'
import { findStored } from './find-stored.ts'
import { renewLease } from './lease.ts'
import { isTooLongToIndex, postgresError } from '../connection/postgres-errors.ts'
import { isCustomerTaken, isTaken } from '../connection/postgres-errors.ts'
import { SavedIds } from './saved-ids.ts'
import { hasPages } from './still-there.ts'
import { requirePages } from './went-back.ts'
import type { Database, Session } from '../session.ts'
import { storablePages, type StorablePages } from '../storable-pages.ts'
import { writePages, type Written } from './write-pages.ts'
import type { SortedPage } from '../../../sorted-page.ts'

/** How often pages are decided about again because another program wrote a customer meanwhile. */
const TRIES = 5

/** Fewer customers than these are sent in less time than the round trips before take. */
const MANY = 1000

/** The runs that load an organization without rows, with the ids that they have saved, or tried to. */
const loading = new WeakMap<Run, SavedIds>()

/**
 * Saves whole pages in one transaction: the fence, one look-up of the customers that need one, and one statement that writes all that
 * was decided. Adds the result to the run after the commit.
 */
export async function savePages(
  database: Database,
  run: Run,
  pages: readonly SortedPage[],
  { nowMs, onWaiting }: Pick<Saving, 'nowMs' | 'onWaiting'>,
): Promise<PagesSaved> {
  const storable = storablePages(pages)
  const ids = idsIn(storable.pages)
  if (ids.size < MANY) onWaiting?.()
  for (let tries = 1; ; tries += 1) {
    let isTooLong = false
    const failed = (error: unknown): never => {
      isTooLong = isTooLongToIndex(error)
      throw isTaken(error) ? new WrittenMeanwhile(lastingCollision(error, database)) : error
    }
    try {
      // Once another program wrote a customer, what this run has saved says little.
      const before = tries === 1 ? loading.get(run)?.add(ids) : undefined
      const toFind = before?.union(rejectedIn(storable.pages)) ?? ids
      const { saved, lastRowId } = await saveOnce(database, run, storable, {
        ids,
        toFind,
        nowMs,
        once: pages,
        failed,
        onWaiting,
      })
      if (lastRowId === 0 && ids.size > 0) {
        const savedIds = new SavedIds()
        savedIds.add(ids)
        loading.set(run, savedIds)
      }
      addSaved(run, saved)
      return saved
    } catch (error) {
      if (isTooLong && (await dropTextIndexes(database))) continue
      if (!(error instanceof WrittenMeanwhile)) throw error
      if (tries === TRIES) throw error.lasting
    }
  }
}

async function saveOnce(
  database: Database,
  run: Run,
  { pages, replaced }: StorablePages,
  { ids, toFind, nowMs, once, failed, onWaiting }: Saving,
): Promise<{ saved: PagesSaved; lastRowId: number }> {
  const work = async (session: Session) => {
    await renewLease(session, run)
    const stored = ids.size === 0 ? NOTHING_NAMED : await findStored(session, run.organization, toFind)
    const decided = withReplaced(decidePages(run, pages, stored), replaced)
    const writing = writePages(session, run, decided, nowMs)
    onWaiting?.()
    const written = await writing.catch(failed)
    requirePages(written.pages, run.pages + decided.saved.pages.length, run)
    requireWritten(run, decided, written)
    return { saved: decided.saved, lastRowId: stored.lastRowId }
  }
  return await database.write(work, once, (session, { saved }) =>
    hasPages(session, run, run.pages + saved.pages.length),
  )
}

type Saving = {
  /** The ids in the pages, and those of them that the mirror may hold. */
  ids: ReadonlySet<string>
  toFind: ReadonlySet<string>
  nowMs: number
  once: object
  failed: (error: unknown) => never
  /** Called once all is sent, or at once for few customers. */
  onWaiting?: (() => void) | undefined
}

/** No insert fails where another program inserted the customer of a reject, so these are always looked up. */
function rejectedIn(pages: readonly SortedPage[]): Set<string> {
  return new Set(pages.flatMap(({ rejects }) => rejects.flatMap(({ recordId }) => recordId ?? [])))
}

const NOTHING_NAMED: Stored = { customers: new Map(), lastRowId: 0 }

/** A customer in which a text was replaced is read again by the next run, which counts it again. */
function withReplaced(decided: PagesDecided, replaced: StorablePages['replaced']): PagesDecided {
  const rows = replaced.flatMap((places, page) => places.map((place) => decided.saved.pages[page]?.rowIds[place] ?? 0))
  if (rows.length === 0) return decided
  return { ...decided, edited: new Set([...decided.edited, ...rows]) }
}

/** Throws AccountingBroken where a table did not take what it was given, and WrittenMeanwhile where that may be another program's doing. */
function requireWritten(run: Run, { inserted, updated, changes, rejects }: PagesDecided, written: Written): void {
  const isStamped = inserted.length + updated.size + changes.length > 0
  requireTaken(run, 'last_update', { given: isStamped ? 1 : 0, taken: written.stamp })
  requireTaken(run, 'customers', { given: inserted.length, taken: written.inserted })
  requireTaken(run, 'changes', { given: changes.length, taken: written.fed })
  requireTaken(run, 'rejects', { given: rejects.size, taken: written.rejected })
  const counts = { given: updated.size, taken: written.updated }
  if (counts.taken < counts.given) throw new WrittenMeanwhile(notTaken(run.organization, 'customers', counts))
}

/** Another program seems to have inserted or deleted a customer between the look-up and the writing. `lasting`: the error if it lasts. */
class WrittenMeanwhile extends Error {
  override name = 'WrittenMeanwhile' as const
  readonly lasting: unknown

  constructor(lasting: unknown) {
    super('another program wrote customers meanwhile')
    this.lasting = lasting
  }
}

/** Another program keeps inserting the customers, or a unique index that someone added does not allow them. */
function lastingCollision(error: unknown, { address }: Database): unknown {
  if (!isCustomerTaken(error)) return postgresError(error, address)
  return new MirrorUnusable(
    `${address}: another program keeps inserting or deleting customers, or a policy hides rows from this user. Stop that program, or drop that policy, then sync again.`,
    { code: 'busy' },
  )
}
