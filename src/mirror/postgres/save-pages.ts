import type { Run } from '../../run.ts'
import type { PagesSaved } from '../../store.ts'
import { MirrorUnusable } from '../../errors.ts'
import { decidePages, idsIn, type PagesDecided } from '../decide-pages.ts'
import { addSaved } from '../page-accounting.ts'
import { dropTextIndexes } from './reading-indexes.ts'
import { findStored } from './find-stored.ts'
import { renewLease } from './lease.ts'
import { isTooLongToIndex } from './postgres-errors.ts'
import { requirePages } from './went-back.ts'
import type { Database } from './session.ts'
import { storablePages, type StorablePages } from './storable-text.ts'
import { writePages } from './write-pages.ts'
import type { SortedPage } from '../../sorted-page.ts'

/** How often pages are decided about again because another program wrote a customer meanwhile. */
const TRIES = 5

/**
 * Saves whole pages in one transaction: the fence, one look-up of the customers that need one, and one statement that writes all that
 * was decided. Adds the result to the run after the commit.
 */
export async function savePages(
  database: Database,
  run: Run,
  pages: readonly SortedPage[],
  nowMs: number,
): Promise<PagesSaved> {
  const storable = storablePages(pages)
  for (let tries = 1; ; tries += 1) {
    let isTooLong = false
    const failed = (error: unknown): never => {
      isTooLong = isTooLongToIndex(error)
      throw error
    }
    try {
      const saved = await saveOnce(database, run, storable, { nowMs, once: pages, failed })
      addSaved(run, saved)
      return saved
    } catch (error) {
      if (isTooLong && (await dropTextIndexes(database))) continue
      if (!(error instanceof WrittenMeanwhile)) throw error
      if (tries === TRIES) throw new MirrorUnusable(`${database.address}: ${error.message}`, { code: 'locked' })
    }
  }
}

async function saveOnce(
  database: Database,
  run: Run,
  { pages, replaced }: StorablePages,
  { nowMs, once, failed }: { nowMs: number; once: object; failed: (error: unknown) => never },
): Promise<PagesSaved> {
  return await database.write(async (session) => {
    await renewLease(session, run)
    const stored = await findStored(session, run.organization, idsIn(pages))
    const decided = withReplaced(decidePages(run, pages, stored), replaced)
    const written = await writePages(session, run, decided, nowMs).catch(failed)
    requirePages(written.pages, run.pages + decided.saved.pages.length, run)
    if (written.inserted < decided.inserted.length || written.updated < decided.updated.size)
      throw new WrittenMeanwhile()
    return decided.saved
  }, once)
}

/** A customer in which a text was replaced is read again by the next run, which counts it again. */
function withReplaced(decided: PagesDecided, replaced: StorablePages['replaced']): PagesDecided {
  const rows = replaced.flatMap((places, page) => places.map((place) => decided.saved.pages[page]?.rowIds[place] ?? 0))
  if (rows.length === 0) return decided
  return { ...decided, edited: new Set([...decided.edited, ...rows]) }
}

/** Another program inserted or deleted a customer between the look-up and the writing. */
class WrittenMeanwhile extends Error {
  override name = 'WrittenMeanwhile' as const

  constructor() {
    super('another program keeps inserting or deleting customers. Stop it, then sync again.')
  }
}
