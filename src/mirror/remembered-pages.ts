import type { Row, Warnings } from '../customer.ts'
import type { RememberedPage, RememberedRow } from '../remembered-page.ts'
import { RowSet } from '../row-set.ts'
import { version } from '../version.ts'
import type { Connection } from './database.ts'
import { pageKey, PagesAhead, type PageColumns } from './pages-ahead.ts'
import { rowIdsFrom, rowIdsIn } from './row-ids.ts'
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
  /** Undefined when there is none to recall. */
  readonly pages: PagesAhead | undefined
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
  rows: readonly RememberedRow[]
  neighbours: RememberedPage['neighbours']
}

/** What a run that is about to start may rely on. */
export function startMemory(db: Connection, organization: string): PageMemory {
  const doubted = new RowSet()
  const isEmpty =
    statement(db, 'SELECT 1 FROM remembered_pages WHERE organization = ? LIMIT 1').get(organization) === undefined
  if (!isEmpty) for (const rowId of doubtedRows(db, organization)) doubted.add(rowId)
  const pages = isEmpty ? undefined : new PagesAhead(db, organization)
  return { pages, doubted, changed: new RowSet(), kept: new Set() }
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

/** A page as it came before; undefined when it is not remembered. Rows that may have changed since are left out of it. */
export function recallPage(
  memory: PageMemory,
  { page, size }: { page: number; size: number },
): RememberedPage | undefined {
  const start = size * (page - 1)
  // A customer that this run changed is as this run's own pages say, and not as those of earlier runs do.
  const isOfThisRun = memory.kept.has(pageKey(start, size))
  const columns = isOfThisRun ? memory.pages?.find(start, size) : memory.pages?.take(start, size)
  if (columns === undefined || columns.program !== PROGRAM) return undefined
  const { rows, neighbours } = pageIn(columns)
  if (memory.doubted.size === 0 && !isOfThisRun) return { digest: columns.digest, rows, neighbours }
  const certain = rows.filter(({ rowId }) => !memory.doubted.has(rowId) && !(isOfThisRun && memory.changed.has(rowId)))
  return { digest: certain.length === rows.length ? columns.digest : undefined, rows: certain, neighbours }
}

/** Remembers a page, in place of what was remembered of it before. */
export function rememberPage(db: Connection, organization: string, page: PageToRemember): void {
  const { start, size, digest, rows, neighbours } = page
  const ends = [rows.at(0), rows.at(-1)].flatMap((row) => row ?? []).map(({ id, createdAt }) => ({ id, createdAt }))
  const warnings = Object.fromEntries(
    rows.flatMap((row, place) => (row.warnings === undefined ? [] : [[place, row.warnings]])),
  )
  const outline: Outline = { ends, neighbours, warnings }
  const fingerprints = Float64Array.from(rows, ({ fingerprint }) => fingerprint)
  statement(
    db,
    `INSERT INTO remembered_pages (organization, start, size, program, digest, row_ids, fingerprints, outline)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (organization, start, size) DO UPDATE SET program = excluded.program, digest = excluded.digest,
       row_ids = excluded.row_ids, fingerprints = excluded.fingerprints, outline = excluded.outline`,
  ).run(
    organization,
    start,
    size,
    PROGRAM,
    digest,
    rowIdsFrom(rows.map(({ rowId }) => rowId)),
    Buffer.from(fingerprints.buffer),
    JSON.stringify(outline),
  )
}

/** Whether a page that was recalled is remembered still: whoever changes a customer by hand has it forgotten. */
export function isRemembered(db: Connection, organization: string, start: number, size: number): boolean {
  const find = statement(db, 'SELECT 1 FROM remembered_pages WHERE organization = ? AND start = ? AND size = ?')
  return find.get(organization, start, size) !== undefined
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

/** What is told of a page beside its rows' numbers. Who stands at its ends tells how it joins its neighbours. */
type Outline = { ends: Row[]; neighbours: RememberedPage['neighbours']; warnings: Partial<Record<number, Warnings>> }

function pageIn({ row_ids, fingerprints, outline }: PageColumns): Omit<RememberedPage, 'digest'> {
  const rowIds = rowIdsIn(row_ids)
  const numbers = new Float64Array(new Uint8Array(fingerprints).buffer)
  const { ends, neighbours, warnings }: Outline = JSON.parse(outline)
  const rows: RememberedRow[] = []
  for (let place = 0; place < rowIds.length; place += 1) {
    const end = place === 0 ? ends[0] : place === rowIds.length - 1 ? ends[1] : undefined
    rows.push({
      id: end?.id,
      createdAt: end?.createdAt,
      rowId: rowIds[place] ?? 0,
      fingerprint: numbers[place] ?? NaN,
      warnings: warnings[place],
    })
  }
  return { rows, neighbours }
}
