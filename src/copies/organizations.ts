import { isPostgres } from '../address/mirror-address.ts'
import type { Freshness } from '../model/mirror.ts'
import { sql, text } from '../store/port/sql.ts'
import { sqliteStore } from '../store/port/sqlite-store.ts'
import { records, type Session, type Store } from '../store/port/store.ts'
import { closing } from '../store/mirror.ts'
import { IS_PARTIAL, READ_TO_END } from '../store/schema/views.ts'
import type { Connection } from '../store/sqlite/connect.ts'
import { hasTable, openToRead } from '../store/sqlite/open-to-read.ts'

/** An organization of which a mirror, or a published copy, holds anything; `isLeaving` where these are bytes of a forgotten one alone. */
export type MirroredOrganization = Pick<
  Freshness,
  'organization' | 'active' | 'removed' | 'readAsOfMs' | 'retiredAtMs'
> & { isLeaving: boolean }

/** Opens a mirror or a copy to read it, wherever it is. Throws MirrorUnusable. */
export async function openReadable(place: string): Promise<Store> {
  // The driver of a server is loaded for one.
  if (isPostgres(place)) return (await import('../store/postgres/open-database.ts')).openDatabase(place, 'read')
  const db = openToRead(place)
  db.defaultSafeIntegers(false)
  return sqliteStore(db, place)
}

async function inState<Found>(place: string, work: (session: Session) => Promise<Found>): Promise<Found> {
  return closing(await openReadable(place), (store) => store.read(work))
}

/** The organizations of a mirror or copy, in order. A file is not changed. Throws MirrorUnusable. */
export async function listMirroredOrganizations(place: string): Promise<MirroredOrganization[]> {
  return inState(place, async (session) => {
    const isCopy = (await session.first(sql`SELECT 1 FROM dictionary WHERE table_name = 'manifest'`)) !== undefined
    return records<MirroredOrganization>(session, text(`${LISTED} ${isCopy ? '' : LEAVING} ORDER BY organization`))
  })
}

const LISTED = 'SELECT organization, active, removed, read_as_of, retired_at, 0 AS is_leaving FROM freshness'

const LEAVING = `UNION ALL SELECT organization, 0, 0, NULL, NULL, 1 FROM unfinished_forgets
  WHERE organization NOT IN (SELECT organization FROM runs)`

/** What a run found that read a list to its end. Times are UTC, as in the mirror. */
export type ReadState = {
  run: number
  proof: string
  readAsOf: string
  /** That of the last one that is proven or settled; null where there is none. */
  provenAsOf: string | null
}

/** What a mirror, or a published copy, records of the runs of an organization, and what changes a copy without a run. */
type RecordedOrganization = {
  organization: string
  /** The latest run that changed anything that a copy holds, or the latest of all where none did; `running` while it is under way. */
  runId: number
  startedAt: string
  status: string
  /** The number of the customer who was forgotten last; 0 where there is none. */
  forgotten: number
  /** Since when the organization is retired: its list is not read any more. Null where it is not. */
  retiredAt: string | null
} & (ReadState | { [Fact in keyof ReadState]: null })

export type Recorded = readonly RecordedOrganization[]

export type ReadOrganization = RecordedOrganization & ReadState

/** Whether the list of an organization was read to its end at least once. */
export function isRead(one: RecordedOrganization): one is ReadOrganization {
  return one.run !== null
}

export function idsOf(all: readonly Pick<RecordedOrganization, 'organization'>[]): string[] {
  return all.map(({ organization }) => organization)
}

/** What the mirror at `address` records, wherever it is. Throws MirrorUnusable. */
export async function findRecorded(address: string): Promise<Recorded> {
  return inState(address, (session) => session.all<RecordedOrganization>(text(recordedRows())))
}

/** What an open mirror or copy records, in the order of organizations. */
export function recordedIn(db: Connection, { isCopy = !hasTable(db, 'forgotten') } = {}): Recorded {
  return db.prepare<[], RecordedOrganization>(recordedRows({ isCopy })).safeIntegers(false).all()
}

function recordedRows({ isCopy = false } = {}): string {
  const number = isCopy ? 'SELECT MAX(forgotten) FROM manifest AS last' : 'SELECT MAX(number) FROM forgotten AS last'
  const retired = isCopy ? 'freshness' : 'retired_organizations'
  return `
    SELECT latest.organization, last.id AS "runId", last.started_at AS "startedAt", last.status,
      coalesce((${number} WHERE last.organization = latest.organization), 0) AS forgotten,
      (SELECT retired_at FROM ${retired} AS retired WHERE retired.organization = latest.organization) AS "retiredAt",
      reading.id AS run, reading.proof, reading.read_as_of AS "readAsOf", proven.read_as_of AS "provenAsOf"
    FROM (SELECT organization, MAX(id) AS "latestId", MAX(CASE WHEN ${FOUND_NOTHING} THEN NULL ELSE id END) AS "foundId",
        MAX(CASE WHEN ${READ_TO_END} THEN id END) AS "readingId",
        MAX(CASE WHEN ${READ_TO_END} AND proof IN ('proven', 'settled') THEN id END) AS "provenId"
      FROM runs GROUP BY organization) AS latest
    JOIN runs AS last ON last.id = coalesce("foundId", "latestId")
    LEFT JOIN runs AS reading ON reading.id = "readingId"
    LEFT JOIN runs AS proven ON proven.id = "provenId"
    ORDER BY latest.organization`
}

/** A partial run that found nothing: a copy without it lacks nothing, and a hundred of them a day would make as many copies. */
const FOUND_NOTHING = `${IS_PARTIAL} AND status <> 'running' AND inserted + updated + missing + returned + rejected = 0`
