import { codesFrom, factsOfCode } from '../errors/error-facts.ts'
import type { RunStatus } from '../report.ts'
import { isFarAhead } from '../time/clock-tolerance.ts'

/** The last run of an organization that recorded windows. */
export type RunWithWindows = { id: number; data_as_of: string; status: RunStatus; error_code: string | null }

/**
 * The error codes of runs that reached a limit of the configuration, as a list in SQL. `resumeWithin` counts from the start of the scan, or
 * from the end of its last such run: otherwise a scan that takes longer than `resumeWithin` would restart again and again, and never end.
 */
export const REACHED_LIMIT = `('${codesFrom('limit').join("', '")}')`

/** Whether a run is continued: it ended before its list did, and stands since a moment that is recent enough. */
export function mayContinue(
  { status, error_code }: Pick<RunWithWindows, 'status' | 'error_code'>,
  { standsSinceMs, nowMs, resumeWithinMs }: { standsSinceMs: number; nowMs: number; resumeWithinMs: number },
): boolean {
  // Far in the future it was dated by a wrong clock, and the age of the scan is unknown. A little ahead is a small step, or the clock of
  // another worker: a run that reached a limit is continued at once.
  if (isFarAhead(standsSinceMs, nowMs) || nowMs - standsSinceMs > resumeWithinMs) return false
  return status === 'running' || factsOfCode(error_code ?? '').resumable
}
