import type { Run } from '../../../run.ts'
import type { StoredReject } from '../../../store.ts'
import type { Reject } from '../../../sorted-page.ts'
import type { Connection } from '../opening/database.ts'
import { firstOfScan, openBefore } from '../../sql/open-rejects.ts'
import { requireTaken } from '../../pages/rows-taken.ts'
import { storedRejectOf, type RejectColumns } from '../../rows/reject.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { statement } from '../statement.ts'

/** Saves a reject; an open one from an earlier run is updated, not added again. */
export function saveReject(db: Connection, run: Run, reject: Reject & { page: number }, nowMs: number): void {
  const { changes } = statement<[Record<string, unknown>], never>(
    db,
    `INSERT INTO rejects
       (run_id, organization, record_id, record_key, page, position, payload, reasons, first_seen_at, seen_at)
     VALUES (@runId, @organization, @recordId, @key, @page, @position, @payload, @reasons, @now, @now)
     ON CONFLICT (organization, record_key) WHERE resolved_at IS NULL DO UPDATE SET
       run_id = excluded.run_id, page = excluded.page, position = excluded.position, payload = excluded.payload,
       reasons = excluded.reasons, seen_at = excluded.seen_at`,
  ).run({
    ...reject,
    reasons: JSON.stringify(reject.reasons),
    runId: run.id,
    organization: run.organization,
    now: sqlTime(nowMs),
  })
  requireTaken(run, 'rejects', { given: 1, taken: changes })
}

/**
 * Resolves every open reject that a complete scan did not receive again. If the run continued others, each of them has read a
 * part of the list.
 */
export function resolveRejects(db: Connection, run: Run, nowMs: number): void {
  statement<[Record<string, unknown>], never>(
    db,
    `UPDATE rejects SET resolved_at = @now
     WHERE organization = @organization AND resolved_at IS NULL AND run_id < ${firstOfScan('@id')}`,
  ).run({ now: sqlTime(nowMs), organization: run.organization, id: run.id })
}

/** Resolves the open rejects of which a scan that proves nothing received the record as a customer, and not as a reject. */
export function resolveValid(db: Connection, run: Run, nowMs: number): void {
  const open = statement<[Record<string, unknown>], { reject_id: number; row_id: number; id: string }>(
    db,
    openBefore('@organization', '@id'),
  )
  const resolve = statement<[string, number], never>(db, 'UPDATE rejects SET resolved_at = ? WHERE reject_id = ?')
  for (const { reject_id, row_id, id } of open.all({ organization: run.organization, id: run.id }))
    if (run.seen.has(row_id) && !run.rejectedIds.has(id)) resolve.run(sqlTime(nowMs), reject_id)
}

/** Open rejects, last seen first. */
export function listRejects(
  db: Connection,
  { organization, limit }: { organization?: string | undefined; limit: number },
): StoredReject[] {
  const [ofOne, asked] = organization === undefined ? ['', []] : ['AND organization = ?', [organization]]
  return statement<[...string[], number], RejectColumns>(
    db,
    `SELECT * FROM rejects WHERE resolved_at IS NULL ${ofOne} ORDER BY seen_at DESC, page, position LIMIT ?`,
  )
    .all(...asked, limit)
    .map(storedRejectOf)
}
