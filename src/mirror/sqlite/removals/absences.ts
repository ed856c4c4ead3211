import type { Absent, RemovingProof, Run } from '../../../run.ts'
import type { Connection } from '../database.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { requireTaken } from '../../rows-taken.ts'
import { sqlTime } from '../../sql-time.ts'

/** Marks a customer as missing, and counts the absence. Without a proof it is not counted. */
export function markMissing(
  db: Connection,
  run: Pick<Run, 'organization'>,
  { rowId }: Pick<Absent, 'rowId'>,
  proof: RemovingProof | undefined,
  nowMs: number,
): void {
  const mark = statement(
    db,
    'UPDATE customers SET missing_since = ?, updated_at = ? WHERE row_id = ? AND missing_since IS NULL',
  )
  // The first absence since the customer was listed: nothing is left of what was counted before.
  if (mark.run(sqlTime(nowMs), updateStamp(db, nowMs), rowId).changes > 0) forgetAbsences(db, rowId)
  const unmarked = statement<[number], number>(db, 'SELECT 1 FROM customers WHERE row_id = ? AND missing_since IS NULL')
  requireTaken(run, 'customers', { given: unmarked.pluck().get(rowId) ?? 0, taken: 0 })
  statement(
    db,
    `INSERT INTO absences (organization, row_id, proven, scans) VALUES (?, ?, ?, ?)
     ON CONFLICT (row_id) DO UPDATE SET proven = proven + excluded.proven, scans = scans + excluded.scans`,
  ).run(run.organization, rowId, proof === 'proven' ? 1 : 0, proof === undefined ? 0 : 1)
}

/** The customer is listed, or removed: its absences are counted from 0. */
export function forgetAbsences(db: Connection, rowId: number): void {
  statement(db, 'DELETE FROM absences WHERE row_id = ?').run(rowId)
}
