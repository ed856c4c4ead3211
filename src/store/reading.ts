import type { Freshness, LastPartialRun, LastRun, StoredReject } from '../model/mirror.ts'
import type { LatestRun, LeasedRun, Report } from '../model/report.ts'
import { UsageError } from '../errors/errors.ts'
import { either, givenAs, isIn, joined, moment, sql, sqlTime, text, timeIn, UnreadableValue } from './port/sql.ts'
import { records, type Session, together } from './port/store.ts'
import { type Clocks, heldLeases } from './runs/lease.ts'
import { TIMES } from './schema/schema.ts'
import { firstRunOf, IS_FULL, IS_PARTIAL, lastRunOf, READ_TO_END } from './schema/views.ts'

/** One run, with its certificate; undefined if there is no run with that number. */
export async function findRun(session: Session, id: number) {
  const [row] = await records<StoredRow>(session, sql`SELECT * FROM runs WHERE id = ${id}`)
  return row && { ...storedReport(row), certificate: row.certificate }
}

type Asked = { organization?: string | undefined; limit: number }

/** The latest runs, newest first. */
export async function listRuns(session: Session, { organization, limit }: Asked): Promise<Report[]> {
  const ofOne = organization === undefined ? sql`` : sql`WHERE organization = ${organization}`
  const rows = await records<StoredRow>(session, sql`SELECT * FROM runs ${ofOne} ORDER BY id DESC LIMIT ${limit}`)
  return rows.map(storedReport)
}

type StoredRow = Timed<Omit<Report, 'runId' | 'error'>> & {
  id: number
  certificate: unknown
  shapeAcceptedAtMs: number | undefined
  errorCode: string | undefined
  error: string | undefined
}

function storedReport(stored: StoredRow): Report {
  const { id, certificate: _certificate, shapeAcceptedAtMs: _acceptedAt, errorCode, error, ...row } = stored
  const failure = errorCode === undefined ? undefined : { code: errorCode, message: error ?? '' }
  return { ...withDuration(row), runId: id, error: failure }
}

/** A row with the duration that a run measured, which one that never ended by itself has not. */
type Timed<Row> = Omit<Row, 'durationMs'> & {
  startedAtMs: number
  finishedAtMs: number | undefined
  durationMs: number | undefined
}

/** By the wall clock, which may have been set back meanwhile, where the run did not measure how long it took. */
function withDuration<Row extends Timed<unknown>>(row: Row): Row & { durationMs: number } {
  const { startedAtMs, finishedAtMs = startedAtMs, durationMs = finishedAtMs - startedAtMs } = row
  return { ...row, durationMs: Math.max(0, durationMs) }
}

const last = (organization: string, condition: string) => text(lastRunOf(organization, condition))

/** The `freshness` view, by organization, with the reasons why it is not proven. Columns that are not read are not computed. */
export async function listFreshness(session: Session, counts = ', active, missing, removed'): Promise<Freshness[]> {
  const full = sql`
    SELECT freshness.organization, freshness.read_as_of, proven_as_of, retired_at, freshness.proof, last_run_id, last_status, freshness.held,
      open_rejects ${text(counts.replaceAll(', ', ', freshness.'))}, ${text(firstRunOf('freshness.organization'))} AS first_run_at,
      full_run.status AS last_full_status, ended.error_code AS ended_error,
      CASE WHEN ended.proof <> 'proven' AND ended.shape_accepted_at IS NULL THEN ended.reasons END AS ended_reasons,
      CASE WHEN whole.proof <> 'proven' AND whole.shape_accepted_at IS NULL THEN whole.reasons END AS read_reasons
    FROM freshness
    LEFT JOIN runs AS ended ON ended.id = ${last('freshness.organization', `status <> 'running' AND ${IS_FULL}`)}
    LEFT JOIN runs AS full_run ON full_run.id = ${last('freshness.organization', IS_FULL)}
    LEFT JOIN runs AS whole ON whole.id = ${last('freshness.organization', READ_TO_END)}
    ORDER BY freshness.organization`
  const partial = sql`
    SELECT runs.organization, id AS run_id, started_at, status, reasons, error_code, requests, trusted_pages, inserted, updated,
      runs.missing, runs.held
    FROM freshness JOIN runs ON id = last_run_id WHERE ${text(IS_PARTIAL)}`
  const [rows, partialRuns] = await together(
    records<Omit<Freshness, 'readReasons'> & Unproven>(session, full),
    records<LastPartialRun & { organization: string }>(session, partial),
  )
  const partialOf = new Map(partialRuns.map(({ organization, ...run }) => [organization, run]))
  return rows.map(({ endedError, endedReasons = [], readReasons = [], ...row }) => {
    const ended = endedError === undefined ? endedReasons : [endedError]
    const why = [...new Set([...ended, ...readReasons])]
    return { ...row, lastPartial: partialOf.get(row.organization), readReasons, why }
  })
}

/** The last full run that has ended, and the last one that read the list to its end, if they are not proven. */
type Unproven = { endedError: string | undefined } & Record<'endedReasons' | 'readReasons', string[] | undefined>

/** The latest run of one organization, or of every one that was ever mirrored. Partial runs are none of them. */
export function listLastRuns(session: Session, filter?: { organization: string }): Promise<LastRun[]> {
  const known =
    filter === undefined ? text('freshness') : sql`(SELECT CAST(${filter.organization} AS text) AS organization)`
  const lastRuns = sql`
    SELECT last.organization, last.started_at, last.finished_at AS ended_at, last.status, last.error_code,
      ${text(firstRunOf('last.organization'))} AS first_run_at,
      (SELECT read_as_of FROM runs WHERE id = ${last('last.organization', READ_TO_END)}) AS read_as_of,
      (SELECT error_code FROM runs WHERE id = ${last('last.organization', `status <> 'running' AND id > last.id`)}) AS partial_error_code
    FROM ${known} AS known JOIN runs AS last ON last.id = ${last('known.organization', IS_FULL)}
    ORDER BY last.organization`
  return records(session, lastRuns)
}

/** The latest full runs of these organizations, by organization and then oldest first, at most `limit` of each. */
export async function listLatestRuns(
  session: Session,
  { organizations, limit }: { organizations: readonly string[]; limit: number },
): Promise<LatestRun[]> {
  const wanted = givenAs('name', [...new Set(organizations)], 'wanted')
  const own = text(`FROM runs AS own WHERE own.organization = wanted.name AND ${IS_FULL}`)
  const latest = sql`
    SELECT runs.id AS run_id, runs.organization, started_at, finished_at, duration_ms, status, proof, error_code
    FROM ${wanted} JOIN runs ON runs.organization = wanted.name AND ${text(IS_FULL)}
      AND runs.id >= coalesce((SELECT id ${own} ORDER BY id DESC LIMIT 1 OFFSET ${limit - 1}), 0)
    ORDER BY runs.organization, runs.id`
  return (await records<Timed<LatestRun>>(session, latest)).map(withDuration)
}

/** The runs that hold the lease of their organization, by organization. */
export async function listUnderway(session: Session, clocks: Clocks): Promise<LeasedRun[]> {
  const held = (await heldLeases(session, clocks)).map(({ run_id }) => run_id)
  const underWay = sql`
    SELECT runs.organization, runs.id AS run_id, started_at, ${text(IS_PARTIAL)} AS is_partial, read_before, received - duplicates AS read,
      (SELECT max(total) FROM windows WHERE run_id = runs.id) AS total, holder
    FROM leases JOIN runs ON runs.id = leases.run_id
    WHERE status = 'running' AND ${isIn('runs.id', held)} ORDER BY runs.organization`
  return records(session, underWay)
}

/** The runs that are recorded as running and hold no lease, by number: they were killed, and no other of their organization began since. */
export async function listKilled(session: Session, clocks: Clocks): Promise<number[]> {
  const held = (await heldLeases(session, clocks)).map(({ run_id }) => run_id)
  const isHeld = isIn('last_run_id', held)
  return session.numbers(sql`SELECT last_run_id FROM freshness WHERE last_status = 'running' AND NOT (${isHeld})`)
}

/** Open rejects, last seen first. */
export async function listRejects(session: Session, { organization, limit }: Asked): Promise<StoredReject[]> {
  const ofOne = organization === undefined ? sql`` : sql`AND organization = ${organization}`
  const open = sql`
    SELECT organization, run_id, record_id, page, position, payload, reasons, seen_at FROM rejects
    WHERE resolved_at IS NULL ${ofOne} ORDER BY seen_at DESC, page, position LIMIT ${limit}`
  const rows = await records<Omit<StoredReject, 'recordId'> & { recordId: string | undefined }>(session, open)
  return rows.map((row) => ({ ...row, recordId: row.recordId ?? null }))
}

/** Which changes to list: of runs after one, or written after a time; at most `limit` after the one numbered `afterSeq`. */
type ChangesAsked = { organization: string; since: { run: number } | { ms: number }; afterSeq: number; limit: number }

/** A change, with the customer's names of now; `fields` is JSON: changed field → [before, after]. */
type FoundChange = Record<'name' | 'username' | 'email' | 'fields', string | undefined> & {
  seq: number
  runId: number
  changedAtMs: number
  change: 'added' | 'changed' | 'removed' | 'returned'
  id: string
}

/** Changes of an organization's customers, in order: a page of them. Throws UsageError where some since then are no longer kept. */
export async function listChanges(session: Session, { organization, since, afterSeq, limit }: ChangesAsked) {
  const [begins, isSince] =
    'run' in since
      ? [
          sql`(SELECT started_at FROM runs WHERE organization = ${organization} AND id > ${since.run} ORDER BY id LIMIT 1)`,
          sql`run_id > ${since.run}`,
        ]
      : [moment(sqlTime(since.ms)), sql`changes.changed_at > ${moment(sqlTime(since.ms))}`]
  const deleted = await session.first<{ history_from: string }>(
    sql`SELECT history_from FROM horizons WHERE organization = ${organization} AND history_from > ${begins}`,
  )
  if (deleted !== undefined)
    throw new UsageError(
      `${organization}: the changes before ${deleted.history_from} UTC were deleted, as retention is set. Name a later time or run with --since.`,
    )
  const found = sql`
    SELECT seq, run_id, changes.changed_at, change, changes.id, name, username, email, CAST(fields AS text) AS fields
    FROM changes LEFT JOIN customers ON customers.organization = changes.organization AND customers.id = changes.id
    WHERE seq > ${afterSeq} AND ${either('+', '')}changes.organization = ${organization} AND ${isSince}
    ORDER BY seq LIMIT ${limit}`
  return records<FoundChange>(session, found)
}

/** Counts which of a few ids belong to another organization and are new to this one, a sign of a wrong key: by one look-up or one seek each. */
export async function findKnownElsewhere(session: Session, organization: string, ids: readonly string[]) {
  const found = await session.all<{ id: string; organization: string }>(sql`
    WITH RECURSIVE others (organization) AS (
      SELECT min(organization) FROM customers
      UNION ALL
      SELECT (SELECT min(organization) FROM customers WHERE customers.organization > others.organization)
      FROM others WHERE others.organization IS NOT NULL
    )
    SELECT asked.id, others.organization FROM ${givenAs('id', [...new Set(ids)], 'asked')} CROSS JOIN others
    WHERE others.organization <> ${organization}
      AND (SELECT 1 FROM customers WHERE customers.organization = ${organization} AND customers.id = asked.id LIMIT 1) IS NULL
      AND (SELECT 1 FROM customers WHERE customers.organization = others.organization AND customers.id = asked.id LIMIT 1) = 1
    ORDER BY others.organization`)
  const [most] = [...Map.groupBy(found, (row) => row.organization)].toSorted(
    ([, one], [, other]) => other.length - one.length,
  )
  return { count: new Set(found.map(({ id }) => id)).size, mostlyOf: most?.[0] }
}

/** Whether the record of a row of `customers` was not a reject when it was received last. */
export const NOT_REJECTED = `NOT EXISTS (SELECT 1 FROM rejects
  WHERE rejects.organization = customers.organization AND record_key = customers.id AND resolved_at IS NULL)`

/** Begins a query in which `scan` are the runs of the scan of a run: that run, and the interrupted ones that it went on from. */
export const withScan = (run: number) => sql`
  WITH RECURSIVE scan (id, resumed_from) AS (
    SELECT id, resumed_from FROM runs WHERE id = ${run}
    UNION ALL SELECT runs.id, runs.resumed_from FROM runs JOIN scan ON runs.id = scan.resumed_from
  )`

export const firstOfScan = (run: number) => sql`(${withScan(run)} SELECT min(id) FROM scan)`

/** Throws UnreadableValue where a date was written by hand that this program cannot read: it names table, row and column. */
export async function requireReadableTimes(session: Session) {
  for (const [table, columns] of TIMES) {
    const odd = columns.map((column) => sql`(${either(NOT_IN_FILE(column), NOT_ON_SERVER(column))})`)
    const shown = text([`CAST(${KEYS[table] ?? 'organization'} AS text) AS row`, ...columns].join(', '))
    const rows = await session.all<{ row: string } & Record<string, string | null>>(
      sql`SELECT ${shown} FROM ${text(table)} WHERE ${joined(odd, ' OR ')} LIMIT ${MOST}`,
    )
    for (const { row, ...times } of rows)
      for (const [column, time] of Object.entries(times)) {
        try {
          timeIn(time)
        } catch (error) {
          if (error instanceof UnreadableValue)
            error.message = `${column} in the row ${row} of ${table} ${error.message}`
          throw error
        }
      }
  }
}

/** What names a row of a table, where it is not the organization. */
const KEYS: Partial<Record<string, string>> = {
  ...{ runs: 'id', changes: 'seq', rejects: 'reject_id', last_update: 'id', forgotten: 'number' },
  customers: `organization || ' ' || id`,
}

/** Rows that may only look odd: a year of five digits can be read. */
const MOST = 1000

const NOT_IN_FILE = (column: string) =>
  `${column} IS NOT NULL AND (julianday(${column}) IS NULL OR ${column} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9]*')`
const NOT_ON_SERVER = (column: string) => `NOT (${column} >= '0001-01-01' AND ${column} < '10000-01-01')`
