import type { Start } from '../../../run.ts'
import type { Connection } from '../opening/database.ts'
import { mayContinue, REACHED_LIMIT, type RunWithWindows } from '../../rules/resume-rule.ts'
import { statement } from '../statement.ts'

/** The last run that recorded windows, if it ended before its list did, and recently enough. */
export function findResumable(db: Connection, start: Start): RunWithWindows | undefined {
  const last = statement<[string], RunWithWindows>(
    db,
    `SELECT id, read_as_of, status, error_code FROM runs
     WHERE organization = ? AND EXISTS (SELECT 1 FROM windows WHERE run_id = runs.id) ORDER BY id DESC LIMIT 1`,
  ).get(start.organization)
  return last !== undefined && mayContinue(last, findLimitAt(db, last.id), start) ? last : undefined
}

/** The end of the last run that a run goes back to, itself included, and that reached a limit. */
function findLimitAt(db: Connection, id: number): string | null | undefined {
  return statement<[number], string | null>(
    db,
    `WITH RECURSIVE chain (id, resumed_from, error_code, finished_at) AS (
       SELECT id, resumed_from, error_code, finished_at FROM runs WHERE id = ?
       UNION ALL SELECT runs.id, runs.resumed_from, runs.error_code, runs.finished_at
       FROM runs JOIN chain ON runs.id = chain.resumed_from
     )
     SELECT MAX(finished_at) FROM chain WHERE error_code IN ${REACHED_LIMIT}`,
  )
    .pluck()
    .get(id)
}
