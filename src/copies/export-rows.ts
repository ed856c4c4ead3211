import { UsageError } from '../errors/errors.ts'
import { listedNames } from '../text/listed-names.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { feedStart, lastGiven, lastSeq, lastSeqAt, type SelectedRows } from './feed.ts'
import type { ExportFacts, ExportRow, Format, Sink } from './format.ts'
import { nowIn, numberIn } from './open-to-read.ts'
import { mirroredIn, type ReadOrganization, readOrganizations, type UnknownOrganization } from './organizations.ts'
import { type Selection, selectRows, tableOf } from './selection.ts'

/** What was exported. */
export type Exported = {
  rows: number
  exportedAt: string
  lastSeq: number
  leftOut: LeftOutOfExport[]
  /** With `asOf`, the organizations whose list was last read before then: what they are known to hold is from that reading. */
  readBefore: { organization: string; readAsOf: string }[]
}

export type Exporting = {
  selection: Selection
  /** Organizations of the configuration, which may be named although the mirror does not know them yet. */
  configured: readonly string[]
  format: Format
  /** Where all rows go, or where those of an organization do: each has its own place then, and its rows do not name it. */
  to: Sink | ((organization: string) => PartitionSink)
  /** Called now and then with the rows so far, and with all there will be where that is known. */
  onProgress?: ((rows: number, total: number | undefined) => void) | undefined
}

/** The place of the rows of one organization. */
export type PartitionSink = Sink & {
  /** To be called when all of them are written. */
  finish(rows: number): void
}

/**
 * Exports the selected rows of one state of the file, whose transaction the caller holds: rows are read as they are written. Throws UsageError
 * before anything is written.
 */
export function exportRows(
  db: Connection,
  { selection, configured, format, to, onProgress }: Exporting,
): Exported | UnknownOrganization {
  const organizations = selectOrganizations(db, selection, configured)
  if ('known' in organizations) return organizations
  const { changesSince, asOf } = selection
  const seq = asOf === undefined ? lastSeq(db) : lastSeqAt(db, asOf)
  const exportedAt = nowIn(db)
  const read = organizations.read.map((one) => ({ ...one, active: countActive(db, one.organization) }))
  const start = feedStart(
    db,
    read.map(({ organization }) => organization),
  )
  if (changesSince !== undefined)
    requireCompleteFeed(changesSince, { last: seq, given: lastGiven(db), first: start.seq })
  if (asOf !== undefined) requireKnownTime(asOf, { now: exportedAt, from: start.at })
  const facts = { exportedAt, lastSeq: seq }
  let rows = 0
  const report = onProgress && ((more: number, total: number | undefined) => onProgress(rows + more, total))
  if (typeof to !== 'function')
    rows = writeRows(db, { selection, facts: { ...facts, organizations: read }, format, to, report })
  else
    for (const one of read) {
      const place = to(one.organization)
      const part = { selection, facts: { ...facts, organizations: [one] }, format, report }
      const written = writeRows(db, { ...part, to: place, isPartition: true })
      place.finish(written)
      rows += written
    }
  const readBefore = read.filter(({ readAsOf }) => asOf !== undefined && readAsOf < asOf)
  return { rows, exportedAt, lastSeq: seq, leftOut: organizations.leftOut, readBefore }
}

/** Those that are active, by two counts that an index answers. */
function countActive(db: Connection, organization: string): number {
  const all = 'SELECT COUNT(*) FROM customers WHERE organization = ?'
  return numberIn(db, all, organization) - numberIn(db, `${all} AND removed_at IS NOT NULL`, organization)
}

type Part = Pick<Exporting, 'selection' | 'format'> & {
  facts: Pick<ExportFacts, 'exportedAt' | 'lastSeq' | 'organizations'>
  to: Sink
  report: Exporting['onProgress']
  isPartition?: boolean
}

/** Writes the rows of the organizations that the facts name. A partition is one of many, so its rows are found by an index. */
function writeRows(db: Connection, { selection, facts, format, to, report, isPartition = false }: Part): number {
  const names = facts.organizations.map(({ organization }) => organization)
  const { columns, sql, parameters } = selectRows(db, selection, names, { isPartition })
  if (columns.length === 0)
    throw new UsageError(`This file has no ${tableOf(selection)}: it was made by an earlier version. Publish it again.`)
  const { asOf, changesSince } = selection
  const isCounted = report !== undefined && !isPartition && asOf === undefined
  const total = isCounted ? numberIn(db, `SELECT COUNT(*) FROM (${sql})`, ...parameters) : undefined
  const rows = readRows(db, { sql, parameters }, (count) => report?.(count, total))
  try {
    return format.write(rows, to, { ...facts, table: tableOf(selection), columns, asOf, changesSince })
  } finally {
    // A statement that is not at its end would keep the file from being closed.
    rows.return()
  }
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

function requireCompleteFeed(
  since: number,
  { last, given, first }: { last: number; given: number; first: number },
): void {
  if (since > given)
    throw new UsageError(`There is no change ${since} yet: the last one is ${last}. Use the last seq of what you have.`)
  if (since + 1 < first)
    throw new UsageError(
      `The changes before ${first} were deleted, or undone by a restore: start again from a copy, and continue from its last seq.`,
    )
}

function requireKnownTime(asOf: string, { now, from }: { now: string; from: string }): void {
  if (asOf > now) throw new UsageError(`${asOf} lies in the future: it is ${now} UTC now.`)
  if (asOf < from)
    throw new UsageError(`What is from before ${from} was deleted, so the customers of ${asOf} are not known.`)
}

/** The organizations to export, and those that are left out, whose list was never read to its end, or not by then. */
type SelectedOrganizations = { read: ReadOrganization[]; leftOut: LeftOutOfExport[] }
type LeftOutOfExport = { organization: string; firstReadAt: string | undefined }

/**
 * Those named, or all of the mirror; with `asOf`, those that had been read to their end by then. Throws UsageError where there is
 * none to export.
 */
function selectOrganizations(
  db: Connection,
  { organizations: named, asOf }: Pick<Selection, 'organizations' | 'asOf'>,
  configured: readonly string[],
): SelectedOrganizations | UnknownOrganization {
  const known = mirroredIn(db)
  const unknown = named.find((organization) => !known.includes(organization) && !configured.includes(organization))
  if (unknown !== undefined) return { organization: unknown, known }
  const chosen = named.length === 0 ? known : [...new Set(named)]
  const found = new Map(readOrganizations(db).map((one) => [one.organization, one]))
  const isRead = (one: ReadOrganization | undefined) =>
    one !== undefined && (asOf === undefined || one.firstReadAt <= asOf)
  const read = chosen.flatMap((id) => found.get(id) ?? []).filter(isRead)
  const leftOut = chosen
    .filter((id) => !isRead(found.get(id)))
    .map((organization) => ({ organization, firstReadAt: found.get(organization)?.firstReadAt }))
  if (read.length === 0) throw nothingToExport(leftOut, asOf)
  return { read, leftOut }
}

function nothingToExport(leftOut: readonly LeftOutOfExport[], asOf: string | undefined): UsageError {
  const [first] = leftOut.flatMap(({ firstReadAt }) => firstReadAt ?? []).toSorted()
  if (first !== undefined)
    return new UsageError(
      `${asOf} is before the first complete run, which ended at ${first}: the customers of then are not known.`,
    )
  const ids = leftOut.map(({ organization }) => organization)
  const which = ids.length === 0 ? 'No list was ever' : `The list of ${listedNames(ids)} was never`
  return new UsageError(
    `${which} read to its end, so there is nothing whole to export. Run 'customer-mirror sync' first.`,
  )
}
