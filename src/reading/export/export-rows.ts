import { UsageError } from '../../errors.ts'
import type { Connection } from '../../mirror/database.ts'
import { feedStart, lastSeq, lastSeqAt } from './feed.ts'
import type { ExportFacts, ExportRow, Format, Sink } from './format.ts'
import { selectOrganizations, type LeftOut, type UnknownOrganization } from './select-organizations.ts'
import { selectRows, tableOf, type SelectedRows, type Selection } from './selection.ts'

/** What was exported. */
export type Exported = {
  rows: number
  lastSeq: number
  leftOut: LeftOut[]
  /** With `asOf`, the organizations whose list was last read before then: what they are known to hold is from that reading. */
  readBefore: { organization: string; readAsOf: string }[]
}

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
  const organizations = selectOrganizations(db, selection, configured)
  if ('unknown' in organizations) return organizations
  const { changesSince, asOf } = selection
  const seq = asOf === undefined ? lastSeq(db) : lastSeqAt(db, asOf)
  const exportedAt = db.prepare<[], string>(`SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')`).pluck().get() ?? ''
  const names = organizations.read.map(({ organization }) => organization)
  const start = feedStart(db, names)
  if (changesSince !== undefined) requireCompleteFeed(changesSince, { last: seq, first: start.seq })
  if (asOf !== undefined) requireKnownTime(asOf, { now: exportedAt, from: start.at })
  const { columns, sql, parameters } = selectRows(db, selection, names)
  if (columns.length === 0)
    throw new UsageError(`This file has no ${tableOf(selection)}: it was made by an earlier version. Publish it again.`)
  const facts: ExportFacts = {
    table: tableOf(selection),
    columns,
    exportedAt,
    asOf,
    changesSince,
    lastSeq: seq,
    organizations: organizations.read,
  }
  const total = onProgress !== undefined && asOf === undefined ? countRows(db, sql, parameters) : undefined
  const rows = readRows(db, { sql, parameters }, (count) => onProgress?.(count, total))
  const written = await closing(rows, () => format.write(rows, to, facts))
  db.exec('COMMIT')
  const readBefore = organizations.read.filter(({ readAsOf }) => asOf !== undefined && readAsOf < asOf)
  return { rows: written, lastSeq: seq, leftOut: organizations.leftOut, readBefore }
}

function requireCompleteFeed(since: number, { last, first }: { last: number; first: number }): void {
  if (since > last)
    throw new UsageError(`There is no change ${since} yet: the last one is ${last}. Use the last seq of what you have.`)
  if (since + 1 < first)
    throw new UsageError(
      `The changes before ${first} were deleted: start again from a copy, and continue from its last seq.`,
    )
}

function requireKnownTime(asOf: string, { now, from }: { now: string; from: string }): void {
  if (asOf > now) throw new UsageError(`${asOf} lies in the future: it is ${now} UTC now.`)
  if (asOf < from)
    throw new UsageError(`What is from before ${from} was deleted, so the customers of ${asOf} are not known.`)
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

function* readRows(
  db: Connection,
  { sql, parameters }: Pick<SelectedRows, 'sql' | 'parameters'>,
  report: (count: number) => void,
): Generator<ExportRow, void> {
  let count = 0
  const statement = db.prepare<unknown[], ExportRow>(sql).raw()
  for (const row of statement.iterate(...parameters)) {
    if (count % BETWEEN_REPORTS === 0) report(count)
    count += 1
    yield row
  }
  report(count)
}

/** A statement that is not at its end would keep the file from being closed. */
async function closing<Result>(rows: Generator<unknown, void>, work: () => Result): Promise<Awaited<Result>> {
  try {
    return await work()
  } finally {
    rows.return()
  }
}
