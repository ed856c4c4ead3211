import { identityOf } from '../../fingerprint-of-run.ts'
import type {
  Mirror,
  StoredReject,
  LastRun,
  KnownElsewhere,
  Freshness,
  StoredRun,
  UncountedFreshness,
} from '../../../store.ts'
import type { Database, Session } from '../session.ts'
import { storedRejectOf, type RejectColumns } from '../../rows/reject.ts'
import { lastRunOf, type LastRunColumns } from '../../rows/last-run.ts'
import { firstRunOf, IS_FULL, READ_TO_END, IS_QUICK } from '../../sql/run-conditions.ts'
import { organizationsIn } from './organizations-in.ts'
import { knownElsewhere } from '../../rows/known-elsewhere.ts'
import { isGone } from '../../../machine/process-name.ts'
import type { LatestRun, LeasedRun, Report } from '../../../report.ts'
import {
  LATEST_COLUMNS,
  latestRunOf,
  leasedRunOf,
  UNDERWAY,
  type LatestColumns,
  type UnderwayColumns,
} from '../../rows/latest-run.ts'
import { LASTS } from '../run/lease.ts'
import { MirrorUnusable } from '../../../errors/errors.ts'
import {
  COUNTED_COLUMNS,
  freshnessColumns,
  freshnessOf,
  UNCOUNTED_COLUMNS,
  uncountedFreshnessOf,
  type CountColumns,
  type FreshnessColumns,
} from '../../rows/freshness.ts'
import { storedReportOf, storedRunOf, type RunColumns } from '../../rows/run.ts'

type Key = { key: Uint8Array }
const KEY = 'SELECT key FROM fingerprint_key'

/** The verbs that read what earlier runs left. Each reads one state of the mirror. */
export function readingVerbs(database: Database) {
  return {
    identity: () => database.read(async (session) => identityOf((await session.first<Key>(KEY))?.key)),
    listRuns: (filter) => database.read((session) => listRuns(session, filter)),
    findRun: (id) => database.read((session) => findRun(session, id)),
    listRejects: (filter) => database.read((session) => listRejects(session, filter)),
    listFreshness: () => database.read(listFreshness),
    listUncountedFreshness: () => database.read(listUncountedFreshness),
    listLastRuns: (filter?) => database.read((session) => listLastRuns(session, filter)),
    listLatestRuns: (filter) => database.read((session) => listLatestRuns(session, filter)),
    listUnderway: () => database.read(listUnderway),
    findKnownElsewhere: (organization, ids) =>
      database.read((session) => findKnownElsewhere(session, organization, ids)),
    findDamage: () => findDamage(database),
  } satisfies Partial<Mirror>
}

/** Open rejects, last seen first. */
async function listRejects(
  session: Session,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Promise<StoredReject[]> {
  const rows = await session.all<RejectColumns>(
    `SELECT * FROM rejects WHERE resolved_at IS NULL AND ($1::text IS NULL OR organization = $1)
     ORDER BY seen_at DESC, page, position LIMIT $2`,
    organization ?? null,
    limit,
  )
  return rows.map(storedRejectOf)
}

/** The latest run of one organization, or of every one that was ever mirrored. Quick runs are none of them. */
export async function listLastRuns(session: Session, filter?: { organization: string }): Promise<LastRun[]> {
  const rows =
    filter === undefined
      ? await session.all<LastRunColumns>(lastRunsOf(organizationsIn('runs')))
      : await session.all<LastRunColumns>(lastRunsOf(THE_ONE), filter.organization)
  return rows.map(lastRunOf)
}

const THE_ONE = 'organizations (organization) AS (SELECT $1::text)'

const lastRunsOf = (organizations: string) => `
  WITH RECURSIVE ${organizations}
  SELECT last.organization, last.started_at, last.finished_at, last.status, last.error_code,
    ${firstRunOf('last.organization')} AS first_run_at,
    (SELECT read_as_of FROM runs
      WHERE runs.organization = last.organization AND ${READ_TO_END} ORDER BY id DESC LIMIT 1) AS complete_as_of,
    (SELECT error_code FROM runs
      WHERE runs.organization = last.organization AND status <> 'running' AND id > last.id ORDER BY id DESC LIMIT 1) AS quick_error
  FROM organizations
  CROSS JOIN LATERAL (
    SELECT * FROM runs WHERE runs.organization = organizations.organization AND ${IS_FULL} ORDER BY id DESC LIMIT 1) AS last
  ORDER BY last.organization`

/**
 * Each id costs one index look-up for each organization of the mirror, so the caller passes only a few. With LIMIT, each is looked up: in
 * a table that was never analyzed the server would rather read all customers of the organization, at every save of an initial sync.
 */
const FIND = `
  WITH RECURSIVE ${organizationsIn('customers')},
  unknown (id) AS MATERIALIZED (
    SELECT DISTINCT given COLLATE "C" FROM unnest($2::text[]) AS given
    LEFT JOIN LATERAL (
      SELECT true AS is_own FROM customers WHERE organization = $1 AND id = given COLLATE "C" LIMIT 1
    ) AS own ON true
    WHERE is_own IS NULL
  )
  SELECT unknown.id, organizations.organization FROM unknown CROSS JOIN organizations
  CROSS JOIN LATERAL (
    SELECT 1 FROM customers WHERE customers.organization = organizations.organization AND customers.id = unknown.id LIMIT 1
  ) AS known`

/** Counts which of a few ids belong to another organization and are new to this one: a sign of a wrong key or address. */
export async function findKnownElsewhere(
  session: Session,
  organization: string,
  ids: readonly string[],
): Promise<KnownElsewhere> {
  return knownElsewhere(await session.all<{ id: string; organization: string }>(FIND, organization, ids))
}

/** The latest full runs of these organizations, by organization and then oldest first, at most `limit` of each. */
async function listLatestRuns(
  session: Session,
  { organizations, limit }: { organizations: readonly string[]; limit: number },
): Promise<LatestRun[]> {
  return (await session.all<LatestColumns>(LATEST, organizations, limit)).map(latestRunOf)
}

const LATEST = `
  SELECT ${LATEST_COLUMNS}
  FROM (SELECT DISTINCT unnest($1::text[]) COLLATE "C" AS organization) AS wanted
  CROSS JOIN LATERAL (
    SELECT * FROM runs WHERE runs.organization = wanted.organization AND ${IS_FULL} ORDER BY id DESC LIMIT $2) AS runs
  ORDER BY runs.organization, runs.id`

/** The runs that hold the lease of their organization by the clock of the server, by organization. */
async function listUnderway(session: Session): Promise<LeasedRun[]> {
  const leased = await session.all<UnderwayColumns>(`${UNDERWAY} AND ${LASTS} ORDER BY runs.organization`)
  return leased.filter(({ holder }) => isGone(holder) !== true).map(leasedRunOf)
}

/** So many damaged indexes are named at most. */
const MOST = 10

/**
 * The damage that the extension amcheck finds in the indexes of the mirror. PostgreSQL has no command of its own that looks for damage:
 * without the extension, or the right to call it, nothing is looked for, and the list is empty.
 */
async function findDamage(database: Database): Promise<string[]> {
  const { check, indexes } = await database.read(async (session) => ({
    check: await session.first<{ name: string }>(CHECK),
    indexes: await session.all<{ oid: string; name: string }>(INDEXES, database.schema),
  }))
  const damages: string[] = []
  for (const { oid, name } of check === undefined ? [] : indexes) {
    if (damages.length === MOST) break
    try {
      await database.read((session) => session.all(`SELECT ${check?.name}($1::regclass)`, oid))
    } catch (error) {
      if (!(error instanceof MirrorUnusable && error.code === 'damaged')) throw error
      damages.push(`the index ${name} is damaged; REINDEX INDEX repairs it if its table is sound`)
    }
  }
  return damages
}

const CHECK = `
  SELECT format('%I.bt_index_check', nspname) AS name
  FROM pg_extension
    JOIN pg_depend ON refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid AND classid = 'pg_proc'::regclass
    JOIN pg_proc ON pg_proc.oid = objid JOIN pg_namespace ON pg_namespace.oid = pronamespace
  WHERE extname = 'amcheck' AND proname = 'bt_index_check' AND pronargs = 1
    AND has_schema_privilege(pg_namespace.oid, 'USAGE') AND has_function_privilege(pg_proc.oid, 'EXECUTE')`

const INDEXES = `
  SELECT pg_class.oid::text AS oid, relname AS name
  FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    JOIN pg_am ON pg_am.oid = relam
  WHERE nspname = $1 AND amname = 'btree' AND relkind = 'i' AND indisvalid AND indisready ORDER BY relname`

/** One run; undefined if there is no run with that number. */
async function findRun(session: Session, id: number): Promise<StoredRun | undefined> {
  const row = await session.first<RunColumns>('SELECT * FROM runs WHERE id = $1', id)
  return row === undefined ? undefined : storedRunOf(row)
}

/** The latest runs, newest first. */
async function listRuns(
  session: Session,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Promise<Report[]> {
  const newest = 'ORDER BY id DESC LIMIT $1'
  const rows =
    organization === undefined
      ? await session.all<RunColumns>(`SELECT * FROM runs ${newest}`, limit)
      : await session.all<RunColumns>(`SELECT * FROM runs WHERE organization = $2 ${newest}`, limit, organization)
  return rows.map(storedReportOf)
}

/** The `freshness` view, by organization, with the reasons why an organization is not proven. */
async function listFreshness(session: Session): Promise<Freshness[]> {
  return (await session.all<FreshnessColumns & CountColumns>(freshnessWith(COUNTED_COLUMNS))).map(freshnessOf)
}

/** The same without the counts of customers: PostgreSQL does not compute the columns of a view that are not read. */
async function listUncountedFreshness(session: Session): Promise<UncountedFreshness[]> {
  return (await session.all<FreshnessColumns>(freshnessWith(UNCOUNTED_COLUMNS))).map(uncountedFreshnessOf)
}

/** Each run is found by one seek in an index, however many runs there are. */
const freshnessWith = (columns: readonly string[]) => `
  SELECT ${freshnessColumns(columns)}
  FROM freshness
  LEFT JOIN LATERAL (${LAST_RUN_OF} AND status <> 'running' AND ${IS_FULL} ${NEWEST}) AS ended ON true
  LEFT JOIN LATERAL (${LAST_RUN_OF} AND ${IS_FULL} ${NEWEST}) AS full_run ON true
  LEFT JOIN runs AS quick ON quick.id = freshness.last_run_id AND quick.${IS_QUICK}
  LEFT JOIN LATERAL (${LAST_RUN_OF} AND ${READ_TO_END} ${NEWEST}) AS whole ON true
  ORDER BY freshness.organization`

const LAST_RUN_OF = 'SELECT * FROM runs WHERE organization = freshness.organization'
const NEWEST = 'ORDER BY id DESC LIMIT 1'
