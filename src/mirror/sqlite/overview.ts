import type { LatestRun, LeasedRun, Proof, RunStatus } from '../../report.ts'
import type { Connection } from './database.ts'
import { findLease, type Clocks } from './lease.ts'
import { fromSqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'
import { IS_FULL, IS_QUICK } from './stored-runs.ts'

/** The latest full runs of these organizations, by organization and then oldest first, at most `limit` of each. */
export function listLatestRuns(
  db: Connection,
  { organizations, limit }: { organizations: readonly string[]; limit: number },
): LatestRun[] {
  return statement<[string, number], LatestColumns>(db, LATEST)
    .all(JSON.stringify(organizations), limit)
    .map(({ id, started_at, finished_at, duration_ms, error_code, waited_ms, ...same }) => {
      const startedAtMs = fromSqlTime(started_at)
      const byWallClock = finished_at === null ? 0 : fromSqlTime(finished_at) - startedAtMs
      return {
        ...same,
        runId: id,
        startedAtMs,
        durationMs: Math.max(0, duration_ms ?? byWallClock),
        waitedMs: Math.max(0, waited_ms),
        errorCode: error_code ?? undefined,
      }
    })
}

const LATEST = `
  SELECT runs.id, runs.organization, started_at, finished_at, duration_ms, status, proof, error_code, inserted, updated, removed,
    returned, held, throttled, waited_ms
  FROM json_each(?) AS wanted
  JOIN runs ON runs.id IN (
    SELECT id FROM runs AS own WHERE own.organization = wanted.value AND ${IS_FULL} ORDER BY id DESC LIMIT ?)
  ORDER BY runs.organization, runs.id`

type LatestColumns = Pick<
  LatestRun,
  'organization' | 'inserted' | 'updated' | 'removed' | 'returned' | 'held' | 'throttled'
> & {
  id: number
  started_at: string
  finished_at: string | null
  duration_ms: number | null
  status: RunStatus
  proof: Proof
  error_code: string | null
  waited_ms: number
}

/** The runs that hold the lease of their organization, by organization. */
export function listUnderway(db: Connection, clocks: Clocks): LeasedRun[] {
  return statement<[], UnderwayColumns>(db, UNDERWAY)
    .all()
    .filter(({ organization, id }) => findLease(db, organization, clocks)?.run_id === id)
    .map(({ id, organization, started_at, is_quick, read_before, received, duplicates, total, holder }) => ({
      organization,
      runId: id,
      startedAtMs: fromSqlTime(started_at),
      isQuick: is_quick === 1,
      readBefore: read_before,
      read: received - duplicates,
      total: total ?? undefined,
      holder,
    }))
}

const UNDERWAY = `
  SELECT runs.id, runs.organization, started_at, ${IS_QUICK} AS is_quick, read_before, received, duplicates, holder,
    (SELECT MAX(total) FROM windows WHERE run_id = runs.id) AS total
  FROM leases JOIN runs ON runs.id = leases.run_id
  WHERE status = 'running'
  ORDER BY runs.organization`

type UnderwayColumns = {
  id: number
  organization: string
  started_at: string
  is_quick: number
  read_before: number
  received: number
  duplicates: number
  total: number | null
  holder: string
}
