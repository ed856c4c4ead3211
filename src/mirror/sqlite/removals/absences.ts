import type { Run } from '../../../run.ts'
import type { Connection } from '../opening/database.ts'
import { statement } from '../statement.ts'
import { updateStamp } from '../update-stamp.ts'
import type { Missing } from '../../rules/removal-rule.ts'
import { requireTaken } from '../../pages/rows-taken.ts'
import { sqlTime } from '../../sql/sql-time.ts'

/** Marks customers as missing, and counts the absences that count, as `isProven` ones or others. */
export function markMissing(
  db: Connection,
  run: Pick<Run, 'organization'>,
  missing: readonly Marked[],
  { isProven, nowMs }: { isProven: boolean; nowMs: number },
): void {
  if (missing.length === 0) return
  const mark = statement(
    db,
    'UPDATE customers SET missing_since = ?, updated_at = ? WHERE row_id = ? AND missing_since IS NULL',
  )
  const [since, stamp] = [sqlTime(nowMs), updateStamp(db, nowMs)]
  // Row by row: to undo one statement for all of them, SQLite would copy every page that it changes.
  const marked = missing.filter(({ row }) => mark.run(since, stamp, row.rowId).changes > 0)
  // The first absence since the customer was listed: nothing is left of what was counted before.
  statement(db, `DELETE FROM absences WHERE row_id IN ${GIVEN}`).run(given(marked))
  const unmarked = statement<[string], number>(
    db,
    `SELECT COUNT(*) FROM customers WHERE row_id IN ${GIVEN} AND missing_since IS NULL`,
  )
  requireTaken(run, 'customers', { given: unmarked.pluck().get(given(missing)) ?? 0, taken: 0 })
  statement(
    db,
    `INSERT INTO absences (organization, row_id, proven, scans)
     SELECT ?, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE TRUE
     ON CONFLICT (row_id) DO UPDATE SET proven = proven + excluded.proven, scans = scans + excluded.scans`,
  ).run(run.organization, JSON.stringify(missing.map((each) => countsOf(each, isProven))))
}

type Marked = Pick<Missing, 'row' | 'isCounted'>

function countsOf({ row, isCounted }: Marked, isProven: boolean): [rowId: number, proven: number, scans: number] {
  return [row.rowId, Number(isCounted && isProven), Number(isCounted)]
}

const GIVEN = '(SELECT value FROM json_each(?))'

function given(missing: readonly Marked[]): string {
  return JSON.stringify(missing.map(({ row }) => row.rowId))
}

/** Marks a customer as listed: its absences are counted from 0. */
export function markRowListed(db: Connection, rowId: number, nowMs: number): void {
  const list =
    'UPDATE customers SET missing_since = NULL, updated_at = ? WHERE row_id = ? AND missing_since IS NOT NULL'
  statement(db, list).run(updateStamp(db, nowMs), rowId)
  forgetAbsences(db, rowId)
}

/** The customer is listed, or removed: its absences are counted from 0. */
export function forgetAbsences(db: Connection, rowId: number): void {
  statement(db, 'DELETE FROM absences WHERE row_id = ?').run(rowId)
}
