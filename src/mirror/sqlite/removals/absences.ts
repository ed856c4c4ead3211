import type { Absent, RemovingProof, Run } from '../../../run.ts'
import type { Connection } from '../database.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import { requireTaken } from '../../rows-taken.ts'
import { sqlTime } from '../../sql-time.ts'

/** Marks customers as missing, and counts the absence of each. Without a proof it is not counted. */
export function markMissing(
  db: Connection,
  run: Pick<Run, 'organization'>,
  rows: readonly Pick<Absent, 'rowId'>[],
  { proof, nowMs }: { proof: RemovingProof | undefined; nowMs: number },
): void {
  if (rows.length === 0) return
  const mark = statement(
    db,
    'UPDATE customers SET missing_since = ?, updated_at = ? WHERE row_id = ? AND missing_since IS NULL',
  )
  const [since, stamp] = [sqlTime(nowMs), updateStamp(db, nowMs)]
  // Row by row: to undo one statement for all of them, SQLite would copy every page that it changes.
  const marked = rows.filter(({ rowId }) => mark.run(since, stamp, rowId).changes > 0)
  // The first absence since the customer was listed: nothing is left of what was counted before.
  statement(db, `DELETE FROM absences WHERE row_id IN ${GIVEN}`).run(given(marked))
  const unmarked = statement<[string], number>(
    db,
    `SELECT COUNT(*) FROM customers WHERE row_id IN ${GIVEN} AND missing_since IS NULL`,
  )
  requireTaken(run, 'customers', { given: unmarked.pluck().get(given(rows)) ?? 0, taken: 0 })
  statement(
    db,
    `INSERT INTO absences (organization, row_id, proven, scans) SELECT ?, value, ?, ? FROM json_each(?) WHERE TRUE
     ON CONFLICT (row_id) DO UPDATE SET proven = proven + excluded.proven, scans = scans + excluded.scans`,
  ).run(run.organization, proof === 'proven' ? 1 : 0, proof === undefined ? 0 : 1, given(rows))
}

const GIVEN = '(SELECT value FROM json_each(?))'

function given(rows: readonly Pick<Absent, 'rowId'>[]): string {
  return JSON.stringify(rows.map(({ rowId }) => rowId))
}

/** The customer is listed, or removed: its absences are counted from 0. */
export function forgetAbsences(db: Connection, rowId: number): void {
  statement(db, 'DELETE FROM absences WHERE row_id = ?').run(rowId)
}
