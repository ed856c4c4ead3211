import type { Run } from '../../../run.ts'
import { isPrivacyOwed } from '../../rules/policy-of-rows.ts'
import type { Connection, RowWriting } from '../opening/database.ts'
import { deletingSecurely, purge } from '../purge.ts'
import { notePurged, rewritePrivacy } from './privacy.ts'

/** Rewrites some of the values that are to be hidden; true while more are left. The last step removes the old ones from the file. */
export function applyPrivacy(
  db: Connection,
  { run, nowMs }: { run: Run; nowMs: number },
  { isKept, writeInPlace }: RowWriting,
): boolean {
  if (!isPrivacyOwed(run)) return false
  if (deletingSecurely(db, () => writeInPlace(() => rewritePrivacy(db, run, nowMs)))) return true
  if (isKept && purge(db)) writeInPlace(() => notePurged(db))
  return false
}
