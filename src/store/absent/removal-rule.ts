import type { RemovingProof } from '../../model/report.ts'
import type { Absent, Ending, RemovalRule } from '../../model/run.ts'

type AbsenceEvidence = {
  absent: readonly Absent[]
  /** Rows whose absence counts for nothing, because the list may be older than the one read before. */
  unjudged: ReadonlySet<number>
  proof: RemovingProof
  removals: NonNullable<Ending['removals']>
  isTooMuch: boolean
}

/**
 * Decides about the absent customers of a scan. All absences are disbelieved where exactly the newest customers are absent, or where a search
 * found one of them; too many at once are held back. Otherwise each customer becomes missing, and one that was absent often enough is
 * removed: after proven scans unless a search is outstanding, after others only where its searches confirm that it is gone. `isCounted`: the
 * absence counts towards a removal. Where none are `held`, what is held back stays as it is.
 */
export function decideAbsences({ absent, unjudged, proof, removals, isTooMuch }: AbsenceEvidence) {
  const { rule, found, confirmed, isSample, isPostponed } = removals
  const reasons = unjudged.size > 0 ? (['older-list'] as const) : []
  const nothing = { reasons, isBelieved: true, listed: [], held: [], missing: [] }
  if (unjudged.size === absent.length) return { ...nothing, isBelieved: false }
  const isDue = (row: Absent) => !unjudged.has(row.rowId) && isCandidate(row, rule, proof)
  const listed = absent.filter(({ id }) => found?.has(id))
  if (listed.length > 0) {
    const held = isSample === true ? absent.filter((row) => !listed.includes(row) && isDue(row)) : []
    return { ...nothing, reasons: [...reasons, 'contradicted'] as const, isBelieved: false, listed, held }
  }
  if (isTooMuch) return { ...nothing, held: absent }
  const isSure = ({ id, missingProven }: Absent) =>
    confirmed.has(id) || (proof === 'proven' && missingProven + 1 >= rule.after)
  const missing = absent.map((row) => ({
    row,
    isCounted: !unjudged.has(row.rowId),
    isRemoved: isDue(row) && isPostponed !== true && isSure(row),
  }))
  return { ...nothing, missing }
}

/** Whether this absence may lead to the removal of the customer; without a proof, one more is needed. */
export function isCandidate(row: Absent, rule: RemovalRule, proof: RemovingProof): boolean {
  // Scans that are proven count among these too.
  const scans = row.missingScans + Number(proof !== 'whole')
  return scans >= rule.after || row.missingWhole + 1 > rule.after
}

/** The results for absent customers: counts, and reasons against the scan. */
export type Absences = {
  missing: number
  removed: number
  held: number
  reasons: readonly ('contradicted' | 'older-list')[]
  isBelieved: boolean
  found: readonly string[]
}

export const NO_ABSENCES: Absences = { missing: 0, removed: 0, held: 0, reasons: [], isBelieved: true, found: [] }
