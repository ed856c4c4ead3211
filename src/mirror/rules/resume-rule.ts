import { codesFrom, factsOfCode } from '../../errors/error-facts.ts'
import type { RunStatus } from '../../report.ts'
import type { Start } from '../../run.ts'
import { isFarAhead } from '../../time/clock-tolerance.ts'
import { fromSqlTime } from '../sql/sql-time.ts'

/** The last run of an organization that recorded windows. */
export type RunWithWindows = { id: number; read_as_of: string; status: RunStatus; error_code: string | null }

/**
 * The error codes of runs that reached a limit of the configuration, as a list in SQL. `resumeWithin` counts from the start of the scan, or
 * from the end of its last such run: otherwise a scan that takes longer than `resumeWithin` would restart again and again, and never end.
 */
export const REACHED_LIMIT = `('${codesFrom('limit').join("', '")}')`

/**
 * Whether a run is continued: it ended before its list did, and that is recent enough. `limitAt`: when the last run of its scan ended that
 * reached a limit.
 */
export function mayContinue(
  { status, read_as_of, error_code }: Omit<RunWithWindows, 'id'>,
  limitAt: string | null | undefined,
  { nowMs, resumeWithinMs }: Pick<Start, 'nowMs' | 'resumeWithinMs'>,
): boolean {
  if (resumeWithinMs === undefined) return false
  const standsSinceMs = fromSqlTime(limitAt ?? read_as_of)
  // Far in the future it was dated by a wrong clock, and the age of the scan is unknown. A little ahead is a small step, or the clock of
  // another worker: a run that reached a limit is continued at once.
  if (isFarAhead(standsSinceMs, nowMs) || nowMs - standsSinceMs > resumeWithinMs) return false
  return status === 'running' || factsOfCode(error_code ?? '').resumable
}
