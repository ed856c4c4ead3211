import type { Ending, Removals, RemovingProof, Run } from '../../../run.ts'
import { absencesOf, NO_ABSENCES, NONE_GONE, type Absences, type Gone } from '../../rules/absences-found.ts'
import { decideAbsences, type Decision } from '../../rules/removal-rule.ts'
import { rowsGone } from '../../mirror-errors.ts'
import { findUnjudged } from './older-list.ts'
import type { Session } from '../session.ts'
import { areTooManyAbsent, findAbsent, findListedBefore, holdsReceived } from './find-absent.ts'
import { markRowsListed } from './quick-runs-meanwhile.ts'
import { holdBack, markMissing, release, removeRows } from './removals.ts'

/**
 * Marks absent customers of a proven scan as missing, and those absent often enough as removed. After a settled or converged scan,
 * only customers with a `confirmed` absence are removed. Too many removals at once are held back, and then no customer is marked. If a
 * search found one of them, or exactly the newest customers are absent, the scan loses its proof and no customer is marked. Throws
 * MirrorUnusable `replaced` where customers that the run received are not in the mirror.
 */
export async function markAbsent(
  session: Session,
  run: Run,
  { proof, removals, serviceMs }: Ending,
  nowMs: number,
): Promise<Absences> {
  if (proof === 'unproven' || removals === undefined) {
    if (!(await holdsReceived(session, run))) throw rowsGone(run.organization)
    return NO_ABSENCES
  }
  return await markBy(session, run, { ...removals, proof, serviceMs }, nowMs)
}

/**
 * Marks customers that a quick run found absent as missing. That is counted as no absence, and removes no customer: only full runs
 * do. The newest customers alone are not marked, since the list may be older than the last one read.
 */
export async function markGone(
  session: Session,
  run: Run,
  { absentRows = [], openAbsences = 0, removals, serviceMs }: Ending,
  nowMs: number,
): Promise<Gone> {
  const gone = await findListedBefore(session, run, absentRows)
  if (gone.length === 0 || removals === undefined) return NONE_GONE
  const absent = gone.length + openAbsences
  if (await areTooManyAbsent(session, run, { absent }, removals.rule)) return { ...NONE_GONE, held: absent }
  const unjudged = await findUnjudged(session, run, gone, serviceMs)
  const missing = gone.filter(({ rowId }) => !unjudged.has(rowId)).map((row) => ({ row, isCounted: false }))
  await markMissing(session, run, missing, { isProven: false, nowMs })
  const reasons = unjudged.size > 0 ? (['older-list'] as const) : []
  return { ...NONE_GONE, missing: missing.length, reasons, unmarked: [...unjudged] }
}

async function markBy(
  session: Session,
  run: Run,
  { proof, rule, serviceMs, ...searched }: Removals & { proof: RemovingProof } & Pick<Ending, 'serviceMs'>,
  nowMs: number,
): Promise<Absences> {
  const found = await findAbsent(session, run)
  if (found === undefined) throw rowsGone(run.organization)
  const { absent, notRemoved } = found
  if (absent.length === 0) return NO_ABSENCES
  const unjudged = await findUnjudged(session, run, absent, serviceMs)
  const isTooMuch = await areTooManyAbsent(session, run, { absent: absent.length, notRemoved }, rule)
  const decision = decideAbsences({ absent, unjudged, proof, rule, searched, isTooMuch })
  await carryOut(session, run, decision, { proof, nowMs })
  return absencesOf(decision)
}

async function carryOut(
  session: Session,
  run: Run,
  { listed, held, missing }: Decision,
  { proof, nowMs }: { proof: RemovingProof; nowMs: number },
): Promise<void> {
  const found = listed.map(({ rowId }) => rowId)
  await markRowsListed(session, run, found, nowMs)
  await release(session, run, found)
  if (held !== undefined) await holdBack(session, run, held)
  await markMissing(session, run, missing, { isProven: proof === 'proven', nowMs })
  const removed = missing.flatMap(({ row, isRemoved }) => (isRemoved ? [row.rowId] : []))
  await removeRows(session, run, removed, nowMs)
}
