import { isPostgres } from '../../address/mirror-address.ts'
import { IS_QUICK, READ_TO_END } from '../../store/schema/run-conditions.ts'
import type { Connection } from '../../store/sqlite/connect.ts'
import { inMirrorFile } from '../in-mirror-file.ts'
import { readOrganizationsIn } from '../organizations/listed-organizations.ts'

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
  const postgres = await import('../../store/postgres/open-database.ts')
  const database = await postgres.openDatabase(address, 'read')
  try {
    return await database.read(async (session) => ({
      lastRuns: await session.all<RecordedRun>(RECORDED_RUNS),
      read: (await session.all<{ organization: string }>(READ)).map(({ organization }) => organization),
    }))
  } finally {
    await database.close()
  }
}

/** What a mirror in a file records. Throws MirrorUnusable. */
export function recordedIn(file: string): Recorded {
  return inMirrorFile(file, (db) => ({ lastRuns: recordedRunsIn(db), read: readOrganizationsIn(db) }))
}

/** The latest run of each organization of a mirror in a file that changed anything that readers see. Throws MirrorUnusable. */
export function listRecordedRuns(file: string): RecordedRun[] {
  return inMirrorFile(file, recordedRunsIn)
}

function recordedRunsIn(db: Connection): RecordedRun[] {
  return db.prepare<[], RecordedRun>(RECORDED_RUNS).all()
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

const READ = `SELECT DISTINCT organization FROM runs WHERE ${READ_TO_END} ORDER BY 1`
