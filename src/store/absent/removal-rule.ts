import type { RemovingProof } from '../../model/report.ts'
import type { Absent, Ending, RemovalRule, Searched } from '../../model/run.ts'

/** This few absences at once are never held back for their share. */
const ALWAYS_BELIEVED = 20

/** So many absences at once, or more, are held back if no customer known before is left. */
const WHOLE_LIST = 3

type AbsenceEvidence = {
  absent: readonly Absent[]
  /** Rows whose absence counts for nothing, because the list may be older than the one read before. */
  unjudged: ReadonlySet<number>
  proof: RemovingProof
  rule: RemovalRule
  searched: Searched
  isTooMuch: boolean
}

/** A customer to be marked missing; `isCounted` when the absence counts towards a removal. */
export type Missing = { row: Absent; isCounted: boolean; isRemoved: boolean }

type Decision = {
  reasons: readonly ('contradicted' | 'older-list')[]
  isBelieved: boolean
  listed: readonly Absent[]
  /** Customers whose removal is held back; undefined leaves what is held as it is. */
  held: readonly Absent[] | undefined
  missing: readonly Missing[]
}

/**
 * Decides about the absent customers of a scan. All absences are disbelieved where exactly the newest customers are absent, or where a search
 * found one of them; too many at once are held back. Otherwise each customer becomes missing, and one that was absent often enough is
 * removed: after proven scans unless a search is outstanding, after others only where its searches confirm that it is gone.
 */
export function decideAbsences(evidence: AbsenceEvidence): Decision {
  const { absent, unjudged, proof, rule, searched, isTooMuch } = evidence
  const nothing = { isBelieved: true, listed: [], held: undefined, missing: [] }
  const older = unjudged.size > 0 ? (['older-list'] as const) : []
  if (unjudged.size === absent.length) return { ...nothing, reasons: older, isBelieved: false }
  const isDue = (row: Absent) => !unjudged.has(row.rowId) && isCandidate(row, rule, proof)
  const listed = absent.filter(({ id }) => searched.found?.has(id))
  if (listed.length > 0) {
    const others = absent.filter((row) => !listed.includes(row) && isDue(row))
    const held = searched.isSample === true && others.length > 0 ? others : undefined
    return { ...nothing, reasons: [...older, 'contradicted'], isBelieved: false, listed, held }
  }
  if (isTooMuch) return { ...nothing, reasons: older, held: absent }
  const missing = absent.map((row) => ({
    row,
    isCounted: !unjudged.has(row.rowId),
    isRemoved: isDue(row) && maySearchRemove(row, { searched, rule, proof }),
  }))
  return { ...nothing, reasons: older, missing }
}

/** Whether this absence may lead to the removal of the customer; without a proof, one more is needed. */
export function isCandidate(row: Absent, rule: RemovalRule, proof: RemovingProof): boolean {
  // Scans that are proven count among these too.
  const scans = row.missingScans + Number(proof !== 'whole')
  return scans >= rule.after || row.missingWhole + 1 > rule.after
}

/** Whether too many are absent at once to be marked: all that were listed before, or a large share of them, or the list is empty. */
export function areTooMany(
  absent: number,
  listed: { before: () => number; now: number },
  { maxShare }: RemovalRule,
): boolean {
  if (listed.now === 0) return true
  if (absent < WHOLE_LIST) return false
  const before = listed.before()
  return absent >= before || (absent > ALWAYS_BELIEVED && absent > maxShare * before)
}

/** Whether the searches allow the removal of the customer. One that could not be made is outstanding for no other customer. */
function maySearchRemove(
  row: Absent,
  { searched, rule, proof }: Pick<AbsenceEvidence, 'searched' | 'rule' | 'proof'>,
): boolean {
  if (searched.isPostponed === true) return false
  return (proof === 'proven' && row.missingProven + 1 >= rule.after) || searched.confirmed.has(row.id)
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

/** A run that found no customer absent. */
export const NO_ABSENCES: Absences = { missing: 0, removed: 0, held: 0, reasons: [], isBelieved: true, found: [] }

/** The ending, with the reasons of the absences against the scan. */
export function endingWith(ending: Ending, absences: Absences): Ending {
  const reasons = [...ending.reasons, ...absences.reasons]
  if (absences.isBelieved) return { ...ending, reasons }
  const { certificate, ...same } = ending
  const amended = certificate && { ...certificate, proof: 'unproven', reasons, found: absences.found }
  return { ...same, proof: 'unproven', reasons, readToEnd: false, certificate: amended }
}
