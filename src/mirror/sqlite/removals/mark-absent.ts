import { absencesOf, NO_ABSENCES, type Absences } from '../../rules/absences-found.ts'
import type { Ending, Removals, RemovingProof, Run } from '../../../run.ts'
import { markMissing, markRowListed } from './absences.ts'
import type { Connection } from '../opening/database.ts'
import { findUnjudged } from './older-list.ts'
import { decideAbsences, type Decision } from '../../rules/removal-rule.ts'
import { rowsGone } from '../../mirror-errors.ts'
import { areTooManyAbsent, findAbsent, holdsReceived } from './find-absent.ts'
import { holdBack, release, remove } from './removals.ts'

/**
 * Marks absent customers of a proven scan as missing, and those absent often enough as removed. After a settled or converged scan,
 * only customers with a `confirmed` absence are removed. Too many removals at once are held back, and then no customer is marked. If a
 * search found one of them, or exactly the newest customers are absent, the scan loses its proof and no customer is marked. Throws
 * MirrorUnusable `replaced` where customers that the run received are not in the mirror.
 */
export function markAbsent(db: Connection, run: Run, { proof, removals, serviceMs }: Ending, nowMs: number): Absences {
  if (proof === 'unproven' || removals === undefined) {
    if (!holdsReceived(db, run)) throw rowsGone(run.organization)
    return NO_ABSENCES
  }
  return markBy(db, run, { ...removals, proof, serviceMs }, nowMs)
}

function markBy(
  db: Connection,
  run: Run,
  { proof, rule, serviceMs, ...searched }: Removals & { proof: RemovingProof } & Pick<Ending, 'serviceMs'>,
  nowMs: number,
): Absences {
  const found = findAbsent(db, run)
  if (found === undefined) throw rowsGone(run.organization)
  const { absent, notRemoved } = found
  if (absent.length === 0) return NO_ABSENCES
  const unjudged = findUnjudged(db, run, absent, serviceMs)
  const isTooMuch = areTooManyAbsent(db, run, { absent: absent.length, notRemoved }, rule)
  return carryOut(db, run, decideAbsences({ absent, unjudged, proof, rule, searched, isTooMuch }), { proof, nowMs })
}

function carryOut(
  db: Connection,
  run: Run,
  decision: Decision,
  { proof, nowMs }: { proof: RemovingProof; nowMs: number },
): Absences {
  const { listed, held, missing } = decision
  for (const { rowId } of listed) {
    markRowListed(db, rowId, nowMs)
    release(db, rowId)
  }
  if (held !== undefined) holdBack(db, run, held)
  markMissing(db, run, missing, { isProven: proof === 'proven', nowMs })
  for (const { row, isRemoved } of missing) if (isRemoved) remove(db, run, row, nowMs)
  return absencesOf(decision)
}
