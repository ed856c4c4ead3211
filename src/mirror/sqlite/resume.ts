import type { Start } from '../../run.ts'
import { factsOfCode } from '../../error-facts.ts'
import type { RunStatus } from '../../report.ts'
import type { Connection } from './database.ts'
import { fromSqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'

/** The last run that recorded windows, if it ended before its list did, and recently enough. */
export function findResumable(db: Connection, { organization, nowMs, resumeWithinMs }: Start) {
  if (resumeWithinMs === undefined) return undefined
  const last = statement<[string], { id: number; data_as_of: string; status: RunStatus; error_code: string | null }>(
    db,
    `SELECT id, data_as_of, status, error_code FROM runs
     WHERE organization = ? AND EXISTS (SELECT 1 FROM windows WHERE run_id = runs.id) ORDER BY id DESC LIMIT 1`,
  ).get(organization)
  if (last === undefined) return undefined
  // A start in the future means that the clock was set back since: the age of the scan is unknown.
  const ageMs = nowMs - standsSinceMs(db, last)
  if (ageMs < 0 || ageMs > resumeWithinMs) return undefined
  const endedEarly = last.status === 'running' || factsOfCode(last.error_code ?? '').resumable
  return endedEarly ? last : undefined
}

/**
 * The moment from which `resumeWithin` counts: the start of the scan, or the end of its last run that reached maxRun or the end of its
 * window. Otherwise a scan that takes longer than `resumeWithin` would restart again and again, and never end.
 */
function standsSinceMs(db: Connection, { id, data_as_of }: { id: number; data_as_of: string }): number {
  const ended = statement<[number], { at: string | null }>(
    db,
    `WITH RECURSIVE chain (id, resumed_from, error_code, finished_at) AS (
       SELECT id, resumed_from, error_code, finished_at FROM runs WHERE id = ?
       UNION ALL SELECT runs.id, runs.resumed_from, runs.error_code, runs.finished_at
       FROM runs JOIN chain ON runs.id = chain.resumed_from
     )
     SELECT MAX(finished_at) AS at FROM chain WHERE error_code IN ('max-run', 'window-closed')`,
  ).get(id)
  return fromSqlTime(ended?.at ?? data_as_of)
}
