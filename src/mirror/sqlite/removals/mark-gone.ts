import type { Ending, Run } from '../../../run.ts'
import { markMissing } from './absences.ts'
import { NONE_GONE, type Gone } from '../../rules/absences-found.ts'
import type { Connection } from '../opening/database.ts'
import { findUnjudged } from './older-list.ts'
import { areTooManyAbsent, findListedBefore } from './find-absent.ts'

/**
 * Marks customers that a quick run found absent as missing. That is counted as no absence, and removes no customer: only full runs
 * do. The newest customers alone are not marked, since the list may be older than the last one read.
 */
export function markGone(
  db: Connection,
  run: Run,
  { absentRows = [], openAbsences = 0, removals, serviceMs }: Ending,
  nowMs: number,
): Gone {
  const gone = absentRows.flatMap((rowId) => findListedBefore(db, run, rowId) ?? [])
  if (gone.length === 0 || removals === undefined) return NONE_GONE
  const absent = gone.length + openAbsences
  if (areTooManyAbsent(db, run, { absent }, removals.rule)) return { ...NONE_GONE, held: absent }
  const unjudged = findUnjudged(db, run, gone, serviceMs)
  const missing = gone.filter(({ rowId }) => !unjudged.has(rowId)).map((row) => ({ row, isCounted: false }))
  markMissing(db, run, missing, { isProven: false, nowMs })
  const reasons = unjudged.size > 0 ? (['older-list'] as const) : []
  return { ...NONE_GONE, missing: missing.length, reasons, unmarked: [...unjudged] }
}
