import { UsageError } from '../errors/errors.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { listedNames } from '../text/wording.ts'
import type { Chunk, ExportRow, Format } from './format.ts'
import { nowIn, numberIn } from './open-to-read.ts'
import { isRead, type ReadOrganization, type Recorded, recordedIn, requireKnown } from './organizations.ts'
import { feedStart, lastGiven, lastSeq, lastSeqAt, type Selection, selectRows, tableOf } from './selection.ts'

export type Exported = {
  rows: number
  exportedAt: string
  lastSeq: number
  leftOut: LeftOutOfExport[]
  /** With `asOf`, the organizations whose list was last read before then: what they are known to hold is from that reading. */
  readBefore: { organization: string; readAsOf: string }[]
}

/** An organization whose list was never read to its end, or not by then. */
type LeftOutOfExport = { organization: string; firstReadAt: string | undefined }

export type Exporting = {
  selection: Selection
  configured: readonly string[]
  recorded?: Recorded
  format: Format
  /** A part for each organization, whose rows do not name it. */
  isPartitioned?: boolean
}

/** A file of an export: all rows, or those of one organization, as they are read. */
export type Part = { organization: string; chunks: Iterable<Chunk>; rows: () => number }

/** An export whose parts are read as they are written. What was exported is known in the end. */
export type BegunExport = { parts: Part[]; done: () => Exported }

/**
 * Begins to export the selected rows of one state of the file, whose transaction the caller holds. Throws UsageError before anything is read.
 */
export function beginExport(
  db: Connection,
  { selection, configured, recorded = recordedIn(db), format, isPartitioned = false }: Exporting,
): BegunExport {
  const { changesSince, asOf } = selection
  const { leftOut, ...selected } = selectOrganizations(recorded, selection, configured)
  const seq = asOf === undefined ? lastSeq(db) : lastSeqAt(db, asOf)
  const exportedAt = nowIn(db)
  const read = selected.read.map(({ organization, retiredAt, reading }) => {
    return { organization, retiredAt, ...reading, active: countActive(db, organization) }
  })
  const namesOf = (organizations: typeof read) => organizations.map(({ organization }) => organization)
  const start = feedStart(db, namesOf(read))
  if (changesSince !== undefined && changesSince > lastGiven(db))
    throw new UsageError(
      `There is no change ${changesSince} yet: the last one is ${seq}. Use the last seq of what you have.`,
    )
  if (changesSince !== undefined && changesSince + 1 < start.seq)
    throw new UsageError(
      `The changes before ${start.seq} were deleted, or undone by a restore: start again from a copy, and continue from its last seq.`,
    )
  if (asOf !== undefined && asOf > exportedAt)
    throw new UsageError(`${asOf} lies in the future: it is ${exportedAt} UTC now.`)
  if (asOf !== undefined && asOf < start.at)
    throw new UsageError(`What is from before ${start.at} was deleted, so the customers of ${asOf} are not known.`)
  let all = 0
  const partOf = (organizations: typeof read): Part => {
    const names = namesOf(organizations)
    const { columns, sql, parameters } = selectRows(db, selection, names, { isPartition: isPartitioned })
    const statement = db.prepare<unknown[], ExportRow>(sql).raw()
    let count = 0
    const counted = function* (): Generator<ExportRow, void> {
      for (const row of statement.iterate(...parameters)) {
        count += 1
        all += 1
        yield row
      }
    }
    const about = { table: tableOf(selection), columns, exportedAt, asOf, changesSince, lastSeq: seq, organizations }
    return { organization: names.join(), chunks: format(counted(), about), rows: () => count }
  }
  const parts = isPartitioned ? read.map((one) => partOf([one])) : [partOf(read)]
  const readBefore = read.filter(({ readAsOf }) => asOf !== undefined && readAsOf < asOf)
  return { parts, done: () => ({ rows: all, exportedAt, lastSeq: seq, leftOut, readBefore }) }
}

/** Those that are active, by two counts that an index answers. */
function countActive(db: Connection, organization: string): number {
  const all = 'SELECT COUNT(*) FROM customers WHERE organization = ?'
  return numberIn(db, all, organization) - numberIn(db, `${all} AND removed_at IS NOT NULL`, organization)
}

/**
 * Those named, or all of the mirror; with `asOf`, those that had been read to their end by then. Throws UsageError where there is
 * none to export.
 */
function selectOrganizations(
  recorded: Recorded,
  { organizations: named, asOf }: Pick<Selection, 'organizations' | 'asOf'>,
  configured: readonly string[],
): { read: ReadOrganization[]; leftOut: LeftOutOfExport[] } {
  const known = recorded.map(({ organization }) => organization)
  requireKnown(named, { known, configured })
  const found = new Map(recorded.filter(isRead).map((one) => [one.organization, one]))
  const read: ReadOrganization[] = []
  const leftOut: LeftOutOfExport[] = []
  for (const organization of new Set(named.length === 0 ? known : named)) {
    const one = found.get(organization)
    const firstReadAt = one?.reading.firstReadAt
    if (one !== undefined && (asOf === undefined || one.reading.firstReadAt <= asOf)) read.push(one)
    else leftOut.push({ organization, firstReadAt })
  }
  if (read.length > 0) return { read, leftOut }
  const [first] = leftOut.flatMap(({ firstReadAt }) => firstReadAt ?? []).toSorted()
  if (first !== undefined)
    throw new UsageError(
      `${asOf} is before the first complete run, which ended at ${first}: the customers of then are not known.`,
    )
  const ids = leftOut.map(({ organization }) => organization)
  const which = ids.length === 0 ? 'No list was ever' : `The list of ${listedNames(ids)} was never`
  throw new UsageError(
    `${which} read to its end, so there is nothing whole to export. Run 'customer-mirror sync' first.`,
  )
}
