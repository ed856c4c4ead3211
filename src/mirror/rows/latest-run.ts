import type { LatestRun, LeasedRun, Proof, RunStatus } from '../../report.ts'
import { fromSqlTime } from '../sql/sql-time.ts'
import { durationOf } from './run.ts'

/** The columns of `runs` in a list of latest runs. */
export const LATEST_COLUMNS =
  'runs.id, runs.organization, started_at, finished_at, duration_ms, status, proof, error_code, inserted, updated, removed, ' +
  'returned, held, throttled, waited_ms'

export type LatestColumns = Pick<
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

export function latestRunOf(row: LatestColumns): LatestRun {
  const { id, started_at, finished_at: _finished, duration_ms: _duration, error_code, waited_ms, ...same } = row
  return {
    ...same,
    runId: id,
    startedAtMs: fromSqlTime(started_at),
    durationMs: durationOf(row),
    waitedMs: Math.max(0, waited_ms),
    errorCode: error_code ?? undefined,
  }
}

/** The runs with a lease that are not ended yet. */
export const UNDERWAY = `
  SELECT runs.id, runs.organization, started_at, trusted_pages, read_before, received, duplicates, holder,
    (SELECT max(total) FROM windows WHERE run_id = runs.id) AS total
  FROM leases JOIN runs ON runs.id = leases.run_id
  WHERE status = 'running'`

/** A run that has a lease. */
export type UnderwayColumns = {
  id: number
  organization: string
  started_at: string
  trusted_pages: number | null
  read_before: number
  received: number
  duplicates: number
  total: number | null
  holder: string
}

export function leasedRunOf(row: UnderwayColumns): LeasedRun {
  return {
    organization: row.organization,
    runId: row.id,
    startedAtMs: fromSqlTime(row.started_at),
    isQuick: row.trusted_pages !== null,
    readBefore: row.read_before,
    read: row.received - row.duplicates,
    total: row.total ?? undefined,
    holder: row.holder,
  }
}
