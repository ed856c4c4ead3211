import type { Start } from '../../run.ts'
import type { Connection } from './database.ts'
import { mayContinue, REACHED_LIMIT, type RunWithWindows } from '../resume-rule.ts'
import { fromSqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'

/** The last run that recorded windows, if it ended before its list did, and recently enough. */
export function findResumable(
  db: Connection,
  { organization, nowMs, resumeWithinMs }: Start,
): RunWithWindows | undefined {
  if (resumeWithinMs === undefined) return undefined
  const last = statement<[string], RunWithWindows>(
    db,
    `SELECT id, data_as_of, status, error_code FROM runs
     WHERE organization = ? AND EXISTS (SELECT 1 FROM windows WHERE run_id = runs.id) ORDER BY id DESC LIMIT 1`,
  ).get(organization)
  if (last === undefined) return undefined
  return mayContinue(last, { standsSinceMs: standsSinceMs(db, last), nowMs, resumeWithinMs }) ? last : undefined
}

function standsSinceMs(db: Connection, { id, data_as_of }: RunWithWindows): number {
  const ended = statement<[number], { at: string | null }>(
    db,
    `WITH RECURSIVE chain (id, resumed_from, error_code, finished_at) AS (
       SELECT id, resumed_from, error_code, finished_at FROM runs WHERE id = ?
       UNION ALL SELECT runs.id, runs.resumed_from, runs.error_code, runs.finished_at
       FROM runs JOIN chain ON runs.id = chain.resumed_from
     )
     SELECT MAX(finished_at) AS at FROM chain WHERE error_code IN ${REACHED_LIMIT}`,
  ).get(id)
  return fromSqlTime(ended?.at ?? data_as_of)
}
