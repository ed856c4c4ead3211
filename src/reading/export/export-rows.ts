import { UsageError } from '../../errors.ts'
import type { Connection } from '../../mirror/database.ts'
import { firstCompleteSeq, lastSeq } from './feed.ts'
import type { ExportFacts, ExportRow, Format, Sink } from './format.ts'
import { selectOrganizations, type UnknownOrganization } from './select-organizations.ts'
import { selectRows, tableOf, type Selection } from './selection.ts'

/** What was exported. */
export type Exported = { rows: number; lastSeq: number; neverRead: string[] }

export type Exporting = {
  selection: Selection
  /** Organizations of the configuration, which may be named although the mirror does not know them yet. */
  configured: readonly string[]
  format: Format
  to: Sink
  /** Called now and then with the rows so far, and with all there will be where that is known. */
  onProgress?: ((rows: number, total: number | undefined) => void) | undefined
}

/**
 * Exports the selected rows of one state of the file: one read transaction, in which rows are read as they are written. Throws
 * UsageError before anything is written.
 */
export async function exportRows(
  db: Connection,
  { selection, configured, format, to, onProgress }: Exporting,
): Promise<Exported | UnknownOrganization> {
  db.exec('BEGIN')
  const organizations = selectOrganizations(db, selection.organizations, configured)
  if ('unknown' in organizations) return organizations
  const seq = lastSeq(db)
  if (selection.changesSince !== undefined) requireCompleteFeed(db, selection.changesSince, seq)
  const { columns, sql, parameters } = selectRows(
    db,
    selection,
    organizations.read.map(({ organization }) => organization),
  )
  const facts: ExportFacts = {
    table: tableOf(selection),
    columns,
    exportedAt: db.prepare<[], string>(`SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')`).pluck().get() ?? '',
    asOf: selection.asOf,
    changesSince: selection.changesSince,
    lastSeq: seq,
    organizations: organizations.read,
  }
  const total = onProgress !== undefined && selection.asOf === undefined ? countRows(db, sql, parameters) : undefined
  const rows = db
    .prepare<unknown[], ExportRow>(sql)
    .raw()
    .iterate(...parameters)
  const written = await format.write(
    counted(rows, (count) => onProgress?.(count, total)),
    to,
    facts,
  )
  db.exec('COMMIT')
  return { rows: written, lastSeq: seq, neverRead: organizations.neverRead }
}

function requireCompleteFeed(db: Connection, since: number, last: number): void {
  if (since > last)
    throw new UsageError(`There is no change ${since} yet: the last one is ${last}. Use the last seq of what you have.`)
  const first = firstCompleteSeq(db)
  if (since + 1 < first)
    throw new UsageError(
      `The changes before ${first} were deleted: start again from a copy, and continue from its last seq.`,
    )
}

function countRows(db: Connection, sql: string, parameters: readonly unknown[]): number {
  return Number(
    db
      .prepare(`SELECT COUNT(*) FROM (${sql})`)
      .pluck()
      .get(...parameters),
  )
}

const BETWEEN_REPORTS = 4096

function* counted(rows: Iterable<ExportRow>, report: (count: number) => void): Generator<ExportRow> {
  let count = 0
  for (const row of rows) {
    if (count % BETWEEN_REPORTS === 0) report(count)
    count += 1
    yield row
  }
  report(count)
}
