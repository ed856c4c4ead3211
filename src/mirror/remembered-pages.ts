import type { Row } from '../customer.ts'
import { fingerprintWith, type Fingerprint } from '../fingerprint.ts'
import type { KnownPage, RememberedPage, RememberedRow } from '../remembered-page.ts'
import { RowSet } from '../row-set.ts'
import { version } from '../version.ts'
import type { Connection } from './database.ts'
import { fingerprintKey } from './fingerprint-key.ts'
import { pageKey, PagesNear } from './pages-near.ts'
import { columnsFrom, knownFrom, rowsFrom } from './remembered-columns.ts'
import { statement } from './statement.ts'

/**
 * Pages as they came before. What makes it safe to take one for read when the same bytes come again:
 *   - a page is remembered in the transaction in which each of its customers was found to be stored as received;
 *   - a run receives a customer once, and writes it at most then, so nothing it remembered becomes untrue while it lasts;
 *   - when it completes, every page it did not see the same or remember anew is forgotten. What is left is true of the
 *     customers as they are stored, and those it did not receive are in none of it;
 *   - after a run that did not complete, its successor doubts every customer written since the last that did.
 */
export type PageMemory = {
  /** Undefined when there is none to recall, and once a customer was edited by hand while the run lasts. */
  pages: PagesNear | undefined
  /** Under the key of the mirror. */
  readonly fingerprint: Fingerprint
  /** Customers no remembered page can speak for: written since the last complete run, or not listed then. */
  readonly doubted: RowSet
  /** Customers whose row this run has changed. */
  readonly changed: RowSet
  /** The pages that are true of what is stored once this run has completed. */
  readonly kept: Set<string>
}

/** A page that was read, as it is to be remembered. */
export type PageToRemember = {
  start: number
  size: number
  digest: string
  rows: readonly (Row & RememberedRow)[]
  neighbours: KnownPage['neighbours']
}

/** What a run that is about to start may rely on. */
export function startMemory(db: Connection, organization: string): PageMemory {
  const doubted = new RowSet()
  const isEmpty =
    statement(db, 'SELECT 1 FROM remembered_pages WHERE organization = ? LIMIT 1').get(organization) === undefined
  if (!isEmpty) for (const rowId of doubtedRows(db, organization)) doubted.add(rowId)
  const pages = isEmpty ? undefined : new PagesNear(db, organization, PROGRAM)
  const fingerprint = fingerprintWith(fingerprintKey(db))
  return { pages, fingerprint, doubted, changed: new RowSet(), kept: new Set() }
}

function* doubtedRows(db: Connection, organization: string): Generator<number> {
  const lastComplete =
    statement<[string], number>(
      db,
      `SELECT id FROM runs WHERE organization = ? AND status = 'complete' ORDER BY id DESC LIMIT 1`,
    )
      .pluck()
      .get(organization) ?? 0
  const hasWritten = statement(
    db,
    'SELECT 1 FROM runs WHERE organization = ? AND id > ? AND inserted + updated > 0 LIMIT 1',
  )
  if (hasWritten.get(organization, lastComplete) !== undefined) {
    const written = 'SELECT row_id FROM customers WHERE organization = ? AND last_run_id > ?'
    yield* statement<[string, number], number>(db, written).pluck().all(organization, lastComplete)
  }
  const notListed = `SELECT row_id FROM customers
     WHERE organization = ? AND (missing_since IS NOT NULL OR removed_at IS NOT NULL)`
  yield* statement<[string], number>(db, notListed).pluck().all(organization)
}

/**
 * A page as it came before, and who stood on the pages around it; undefined when nothing can be recalled. Customers who may
 * have changed since are left out.
 */
export function recallPage(
  { pages, doubted, changed, kept }: PageMemory,
  { page, size }: { page: number; size: number },
): RememberedPage | undefined {
  if (pages === undefined) return undefined
  const start = size * (page - 1)
  // A customer that this run changed is as this run's own pages say, and not as those of earlier runs do.
  const isOfThisRun = kept.has(pageKey(start, size))
  const columns = isOfThisRun ? pages.find(start, size) : pages.take(start, size)
  const isCertain = (rowId: number) => !doubted.has(rowId) && !(isOfThisRun && changed.has(rowId))
  const known = columns === undefined ? undefined : knownFrom(columns)
  const isWhole = known !== undefined && ((doubted.size === 0 && !isOfThisRun) || known.rowIds.every(isCertain))
  const find = pages.finder()
  return {
    whole: isWhole ? known : undefined,
    rows: () => (columns === undefined ? [] : rowsFrom(columns).filter(({ rowId }) => isCertain(rowId))),
    findMoved(fingerprint) {
      const row = find(fingerprint)
      return row === undefined || doubted.has(row.rowId) || changed.has(row.rowId) ? undefined : row
    },
    idsOf: (rowIds) => pages.idsOf(rowIds),
  }
}

/** Remembers a page, in place of what was remembered of it before. */
export function rememberPage(db: Connection, organization: string, page: PageToRemember): void {
  const { start, size, digest, rows, neighbours } = page
  statement<[Record<string, unknown>], never>(
    db,
    `INSERT INTO remembered_pages (organization, start, size, program, digest, row_ids, fingerprints, outline)
     VALUES (@organization, @start, @size, @program, @digest, @row_ids, @fingerprints, @outline)
     ON CONFLICT (organization, start, size) DO UPDATE SET program = excluded.program, digest = excluded.digest,
       row_ids = excluded.row_ids, fingerprints = excluded.fingerprints, outline = excluded.outline`,
  ).run({ organization, start, size, program: PROGRAM, digest, ...columnsFrom(rows, neighbours) })
}

/** Forgets every page of an organization that is not among those kept. */
export function forgetOtherPages(db: Connection, organization: string, kept: ReadonlySet<string>): void {
  const all = statement<[string], { start: number; size: number }>(
    db,
    'SELECT start, size FROM remembered_pages WHERE organization = ?',
  ).all(organization)
  const forget = statement(db, 'DELETE FROM remembered_pages WHERE organization = ? AND start = ? AND size = ?')
  for (const { start, size } of all) if (!kept.has(pageKey(start, size))) forget.run(organization, start, size)
}

const PROGRAM = version()
