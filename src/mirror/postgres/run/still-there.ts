import type { Run } from '../../../run.ts'
import type { Report } from '../../../report.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { HELD, HOLDER } from './lease.ts'
import type { Session } from '../session.ts'

/** Whether a run that was begun has its lease. */
export async function isBegun(session: Session, { id, organization }: Run): Promise<boolean> {
  return (await session.first(`SELECT FROM leases WHERE ${HELD}`, organization, id, HOLDER)) !== undefined
}

/** Whether a run has saved so many pages. */
export async function hasPages(session: Session, { id, organization }: Run, pages: number): Promise<boolean> {
  const counted = 'SELECT FROM runs WHERE organization = $1 AND id = $2 AND pages = $3'
  return (await session.first(counted, organization, id, pages)) !== undefined
}

/** Whether a run has ended as it was reported. */
export async function hasEnded(session: Session, { id, organization }: Run, report: Report): Promise<boolean> {
  const ended = 'SELECT FROM runs WHERE organization = $1 AND id = $2 AND status = $3 AND finished_at = $4::timestamptz'
  const finishedAt = sqlTime(report.finishedAtMs ?? 0)
  return (await session.first(ended, organization, id, report.status, finishedAt)) !== undefined
}

/** Whether a run holds no removals back, and so many of its customers were removed at a moment. */
export async function isDecided(
  session: Session,
  runId: number,
  { removed, nowMs }: { removed: number; nowMs: number } = { removed: 0, nowMs: 0 },
): Promise<boolean> {
  const found = await session.first<{ held: number; removed: number }>(
    `SELECT (SELECT count(*) FROM held_removals WHERE run_id = $1) AS held,
       (SELECT count(*) FROM changes WHERE run_id = $1 AND change = 'removed' AND at = $2::timestamptz) AS removed`,
    runId,
    sqlTime(nowMs),
  )
  return found?.held === 0 && found.removed >= removed
}
