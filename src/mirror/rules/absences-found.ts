import type { Ending } from '../../run.ts'
import type { Decision } from './removal-rule.ts'

/** The results for absent customers: counts, and reasons against the scan. */
export type Absences = {
  missing: number
  removed: number
  held: number
  reasons: readonly ('contradicted' | 'older-list')[]
  /** Whether the scan keeps its proof. */
  isBelieved: boolean
  /** Ids of customers that were not received but that a search found. */
  found: readonly string[]
}

/** A run that found no customer absent. */
export const NO_ABSENCES: Absences = { missing: 0, removed: 0, held: 0, reasons: [], isBelieved: true, found: [] }

/** The results of a decision, once it is carried out. */
export function absencesOf({ reasons, isBelieved, listed, held, missing }: Decision): Absences {
  const removed = missing.filter(({ isRemoved }) => isRemoved).length
  const found = listed.map(({ id }) => id)
  return { missing: missing.length - removed, removed, held: held?.length ?? 0, reasons, isBelieved, found }
}

/** The results for customers that a quick run found absent. `held`: so many at once that none was marked; the next full run decides. */
export type Gone = Absences & {
  /** Rows that are absent, and were not marked; none where all are held back, and the order as it was known stays. */
  unmarked: readonly number[]
}

/** A quick run that found no customer absent. */
export const NONE_GONE: Gone = { ...NO_ABSENCES, unmarked: [] }

/** The ending, with the reasons of the absences against the scan. */
export function endingWith(ending: Ending, absences: Absences): Ending {
  if (absences.reasons.length === 0) return ending
  const reasons = [...ending.reasons, ...absences.reasons]
  if (absences.isBelieved) return { ...ending, reasons }
  const { certificate, ...same } = ending
  const found = absences.found.length > 0 ? { found: absences.found } : {}
  const amended = certificate === undefined ? undefined : { ...certificate, proof: 'unproven', reasons, ...found }
  return { ...same, proof: 'unproven', reasons, readToEnd: false, certificate: amended }
}
