import type { Mirror } from '../../../store.ts'
import { isPrivacyOwed } from '../../policy-of-rows.ts'
import { readTransaction, type Connection, type RowWriting } from '../database.ts'
import { listPrivacy, notePurged, rewritePrivacy } from './privacy.ts'
import { deletingSecurely, purge } from '../purge.ts'

/** The verbs of a mirror that hide stored values. */
export function privacyVerbs(
  db: Connection,
  file: string,
  { isKept, writeInPlace }: RowWriting,
): Pick<Mirror, 'applyPrivacy' | 'listPrivacy'> {
  return {
    applyPrivacy: async (run, nowMs) => {
      if (!isPrivacyOwed(run)) return false
      if (deletingSecurely(db, () => writeInPlace(() => rewritePrivacy(db, run, nowMs)))) return true
      if (isKept && purge(db)) writeInPlace(() => notePurged(db))
      return false
    },
    listPrivacy: async () => readTransaction(db, file, () => listPrivacy(db)),
  }
}
