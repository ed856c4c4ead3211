import type { Mirror } from '../../../store.ts'
import { isPrivacyOwed } from '../../policy-of-rows.ts'
import { readTransaction, type Connection } from '../database.ts'
import { listPrivacy, notePurged, rewritePrivacy } from './privacy.ts'
import { deletingSecurely, purge } from '../purge.ts'

/** `isKept`: not a rehearsal, which is a private copy that is gone in a moment. */
type Place = { isKept: boolean; writeInPlace: <Result>(work: () => Result) => Result }

/** The verbs of a mirror that hide stored values. */
export function privacyVerbs(
  db: Connection,
  file: string,
  { isKept, writeInPlace }: Place,
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
