import type Database from 'better-sqlite3'
import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import { didYouMean } from '../config/suggestion.ts'
import { UsageError } from '../errors/errors.ts'
import { listedNames } from '../text/wording.ts'
import { plainText } from '../text/plain-text.ts'
import { sql, text, timeIn } from '../store/port/sql.ts'
import { sqliteError } from '../store/port/sqlite-errors.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import type { Session } from '../store/port/store.ts'
import { ifThere } from '../store/refusals.ts'
import { IS_QUICK, READ_TO_END } from '../store/schema/views.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import type { ExportedOrganization } from './format.ts'
import { hasTable, inMirrorFile, openToRead } from './open-to-read.ts'

/*
 * The organizations of a mirror or of a copy, and what a mirror records of their runs.
 */

/** An organization of which a mirror, or a published copy, holds anything. */
export type MirroredOrganization = {
  organization: string
  active: number
  removed: number
  /** The start of the last run that read its list to the end; undefined if there is none. Unix milliseconds. */
  readAsOfMs: number | undefined
  /** Since when it is retired; undefined if it is not. */
  retiredAtMs: number | undefined
  /** Whether it is forgotten, but for bytes that may be left in the file. */
  isLeaving: boolean
}

/**
 * The organizations of a mirror or copy, in order; a file is not changed. Throws MirrorUnusable; with `mayBeMissing` there are none where there is
 * no mirror.
 */
export async function listMirroredOrganizations(
  place: string,
  { mayBeMissing = false } = {},
): Promise<MirroredOrganization[]> {
  const reading = isPostgres(place) ? onServer(place, (session) => freshnessIn(session)) : inFile(place)
  const rows = (mayBeMissing ? await ifThere(reading) : await reading) ?? []
  try {
    const listed = rows.map(({ organization, active, removed, leaving, ...times }) => ({
      ...{ organization, active: Number(active), removed: Number(removed), isLeaving: Number(leaving) === 1 },
      ...{ readAsOfMs: timeIn(times.read_as_of), retiredAtMs: timeIn(times.retired_at) },
    }))
    return listed.toSorted((one, other) => (one.organization < other.organization ? -1 : 1))
  } catch (error) {
    throw sqliteError(error, shownMirror(place))
  }
}

type FreshnessRow = {
  organization: string
  active: bigint | number
  removed: bigint | number
  read_as_of: string | null
  retired_at: string | null
  leaving: bigint | number
}

async function inFile(file: string): Promise<FreshnessRow[]> {
  const opened = openToRead(file)
  try {
    return await freshnessIn(sqliteSession(opened.db), hasTable(opened.db, 'unfinished_forgets'))
  } finally {
    opened.close()
  }
}

/** `withLeaving`: also those that are forgotten, but for bytes that may be left. A copy has no such table. */
async function freshnessIn(session: Session, withLeaving = true): Promise<FreshnessRow[]> {
  const fresh = sql`SELECT organization, active, removed, read_as_of, retired_at, 0 AS leaving FROM freshness`
  if (!withLeaving) return session.all(fresh)
  return session.all(sql`${fresh} UNION ALL SELECT organization, 0, 0, NULL, NULL, 1 FROM unfinished_forgets
    WHERE organization NOT IN (SELECT organization FROM runs)`)
}

/** Reads a mirror in PostgreSQL, whose driver is loaded for it. */
async function onServer<Result>(address: string, work: (session: Session) => Promise<Result>): Promise<Result> {
  const { openDatabase } = await import('../store/postgres/open-database.ts')
  const database = await openDatabase(address, 'read')
  try {
    return await database.read(work)
  } finally {
    await database.close()
  }
}

/** Throws UsageError where one of these is known neither to the configuration nor to the file that is read. */
export function requireKnown(
  named: readonly string[],
  { known, configured }: { known: readonly string[]; configured: readonly string[] },
): void {
  const unknown = named.find((organization) => !known.includes(organization) && !configured.includes(organization))
  if (unknown === undefined) return
  const alone = known.filter((organization) => !configured.includes(organization)).map(plainText)
  const places =
    configured.length === 0
      ? [`the mirror has ${listedNames(alone)}`]
      : [
          `the configuration has ${listedNames(configured)}`,
          ...(alone.length > 0 ? [`the mirror also has ${listedNames(alone)}`] : []),
        ]
  const meant = didYouMean(unknown, [...configured, ...alone])
  throw new UsageError(`unknown organization "${unknown}"${meant}: ${places.join('; ')}`)
}

/** Every organization that was ever mirrored. */
export function mirroredIn(db: Database.Database): string[] {
  return db.prepare<[], string>('SELECT DISTINCT organization FROM runs ORDER BY 1').pluck().all()
}

/** The organizations of which an open mirror has read the list to its end at least once. */
export function readOrganizationsIn(db: Database.Database): string[] {
  const read = 'SELECT organization FROM freshness WHERE read_as_of NOT NULL ORDER BY organization'
  return db.prepare<[], string>(read).pluck().all()
}

/** An organization whose list was read to its end at least once. Times are UTC, as in the mirror. */
export type ReadOrganization = Omit<ExportedOrganization, 'active'>

/** These organizations of a mirror or a copy, in order; those that are retired included. */
export function readOrganizations(db: Database.Database): ReadOrganization[] {
  const all = db.prepare<[], Omit<ReadOrganization, 'retiredAt'>>(READ_ORGANIZATIONS).safeIntegers(false).all()
  const retired = 'SELECT organization, retired_at FROM freshness WHERE retired_at IS NOT NULL'
  const retiredAt = new Map(db.prepare<[], [string, string]>(retired).raw().all())
  return all.map((one) => ({ ...one, retiredAt: retiredAt.get(one.organization) ?? null }))
}

const READ_ORGANIZATIONS = `
  SELECT last.organization, last.id AS run, last.proof, last.read_as_of AS readAsOf, found.first_read_at AS firstReadAt,
    (SELECT read_as_of FROM runs WHERE id = found.proven_id) AS provenAsOf
  FROM (SELECT organization, MAX(id) AS id, MIN(finished_at) AS first_read_at, MAX(iif(proof IN ('proven', 'settled'), id, NULL)) AS proven_id
    FROM runs WHERE ${READ_TO_END} GROUP BY organization) AS found
  JOIN runs AS last ON last.id = found.id
  ORDER BY last.organization`

/** All other organizations, of the attached mirror and of the configuration. */
export function listNeverRead(db: Database.Database, configured: readonly string[]): string[] {
  const unread = `
    SELECT organization FROM mirror.freshness WHERE read_as_of IS NULL
    UNION SELECT value FROM json_each(?) WHERE value NOT IN (SELECT organization FROM mirror.runs)
    ORDER BY 1`
  return db.prepare<[string], string>(unread).pluck().all(JSON.stringify(configured))
}

/** The latest run that changed anything that a copy holds, the latest of all, and what changes a copy without a run. */
export type RecordedRun = {
  organization: string
  runId: number
  latestId: number
  startedAt: string
  status: string
  /** The number of the customer who was forgotten last; 0 where there is none. */
  forgotten: number
  /** Since when the organization is retired; null where it is not. */
  retiredAt: string | null
}

/** What a mirror records of its runs: the latest of each organization, and the organizations whose list was read to its end. */
export type Recorded = { lastRuns: RecordedRun[]; read: string[] }

/** What the mirror at `address` records, wherever it is. Throws MirrorUnusable. */
export async function findRecorded(address: string): Promise<Recorded> {
  if (!isPostgres(address)) return recordedIn(address)
  return onServer(address, async (session) => {
    const read = await session.all<{ organization: string }>(
      sql`SELECT DISTINCT organization FROM runs WHERE ${text(READ_TO_END)} ORDER BY 1`,
    )
    return {
      lastRuns: await session.all(sql`${text(RECORDED_RUNS)}`),
      read: read.map(({ organization }) => organization),
    }
  })
}

/** What a mirror in a file records. Throws MirrorUnusable. */
export function recordedIn(file: string): Recorded {
  return inMirrorFile(file, (db) => ({ lastRuns: recordedRunsIn(db), read: readOrganizationsIn(db) }))
}

export function recordedRunsIn(db: Connection): RecordedRun[] {
  return db.prepare<[], RecordedRun>(RECORDED_RUNS).safeIntegers(false).all()
}

/** A quick run that found nothing: a copy without it lacks nothing, and a hundred of them a day would make as many copies. */
const FOUND_NOTHING = `${IS_QUICK} AND status <> 'running' AND inserted + updated + missing + returned + rejected = 0`

/** SQL: the number of the customer of an organization who was forgotten last, in this table; 0 where there is none. */
export function forgottenLast(table: string, organization: string): string {
  return `(SELECT coalesce(MAX(number), 0) FROM ${table} AS each WHERE each.organization = ${organization})`
}

/** SQL: the run in this table that read the list of an organization to its end last, which is the one that `fresh.read_as_of` is the start of. */
export function lastReading(runs: string): string {
  return `(SELECT MAX(id) FROM ${runs} AS each
    WHERE each.organization = fresh.organization AND each.status = 'complete' AND each.read_as_of = fresh.read_as_of)`
}

const RECORDED_RUNS = `
  SELECT runs.organization, "runId", "latestId", started_at AS "startedAt", status,
    ${forgottenLast('forgotten', 'runs.organization')} AS forgotten,
    (SELECT retired_at FROM retired_organizations AS retired WHERE retired.organization = runs.organization) AS "retiredAt"
  FROM (SELECT MAX(id) AS "latestId", MAX(CASE WHEN ${FOUND_NOTHING} THEN 0 ELSE id END) AS "runId" FROM runs GROUP BY organization)
    AS latest
  JOIN runs ON runs.id = CASE WHEN "runId" = 0 THEN "latestId" ELSE "runId" END`
