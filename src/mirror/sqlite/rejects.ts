import type { Run } from '../../run.ts'
import type { StoredReject } from '../../store.ts'
import type { RecordCounts } from '../../report.ts'
import type { Reject } from '../../sorted-page.ts'
import { forgetAbsences } from './removals/absences.ts'
import type { Connection } from './database.ts'
import { recordChange } from './customers.ts'
import { releaseHeld } from './removals/removals.ts'
import { requireTaken } from '../rows-taken.ts'
import { storedRejectOf, type RejectColumns } from '../rows/reject.ts'
import { sqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'
import { updateStamp } from './update-stamp.ts'

/**
 * Saves a page's rejects; an open one from an earlier run is updated, not added again. A reject with a readable id counts as seen, so
 * that its customer does not become missing. Adds ids received for the first time in this run to `rejectedIds`.
 */
export function saveRejects(
  db: Connection,
  run: Run,
  { page, rejects }: { page: number; rejects: readonly Reject[] },
  { counts, rejectedIds }: { counts: RecordCounts; rejectedIds: Set<string> },
  nowMs: number,
): void {
  for (const reject of rejects) {
    const { recordId } = reject
    if (recordId !== null && (run.rejectedIds.has(recordId) || rejectedIds.has(recordId))) {
      counts.duplicates += 1
      continue
    }
    if (recordId !== null) {
      rejectedIds.add(recordId)
      if (isReturned(db, run, recordId, nowMs)) counts.returned += 1
      else markListed(db, run, recordId, nowMs)
    }
    counts.rejected += 1
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
      page,
      now: sqlTime(nowMs),
    })
    requireTaken(run, 'rejects', { given: 1, taken: changes })
  }
}

/** Whether its customer had been removed, and now returns with its last good values. */
function isReturned(db: Connection, run: Run, id: string, nowMs: number): boolean {
  const { changes } = statement(
    db,
    `UPDATE customers SET missing_since = NULL, removed_at = NULL, is_active = 1, last_run_id = ?, updated_at = ?
     WHERE organization = ? AND id = ? AND removed_at IS NOT NULL`,
  ).run(run.id, updateStamp(db, nowMs), run.organization, id)
  if (changes > 0) recordChange(db, run, id, 'returned', null, nowMs)
  return changes > 0
}

/** Marks its customer as listed, although the record is a reject. */
function markListed(db: Connection, run: Run, id: string, nowMs: number): void {
  const listed = statement<[string, string, string], number>(
    db,
    `UPDATE customers SET missing_since = NULL, updated_at = ?
     WHERE organization = ? AND id = ? AND missing_since IS NOT NULL AND removed_at IS NULL
     RETURNING row_id`,
  ).pluck()
  for (const rowId of listed.all(updateStamp(db, nowMs), run.organization, id)) forgetAbsences(db, rowId)
  releaseHeld(db, run, id)
}

/**
 * Resolves every open reject that a complete scan did not receive again. If the run continued others, each of them has read a
 * part of the list.
 */
export function resolveRejects(db: Connection, run: Run, nowMs: number): void {
  statement<[Record<string, unknown>], never>(
    db,
    `UPDATE rejects SET resolved_at = @now
     WHERE organization = @organization AND resolved_at IS NULL
       AND run_id < (
         WITH RECURSIVE chain (id, resumed_from) AS (
           SELECT id, resumed_from FROM runs WHERE id = @id
           UNION ALL SELECT runs.id, runs.resumed_from FROM runs JOIN chain ON runs.id = chain.resumed_from
         )
         SELECT MIN(id) FROM chain
       )`,
  ).run({ now: sqlTime(nowMs), organization: run.organization, id: run.id })
}

/** Open rejects, last seen first. */
export function listRejects(
  db: Connection,
  { organization, limit }: { organization?: string | undefined; limit: number },
): StoredReject[] {
  return statement<[Record<string, unknown>], RejectColumns>(
    db,
    `SELECT * FROM rejects WHERE resolved_at IS NULL AND organization = coalesce(@organization, organization)
     ORDER BY seen_at DESC, page, position LIMIT @limit`,
  )
    .all({ organization: organization ?? null, limit })
    .map(storedRejectOf)
}
