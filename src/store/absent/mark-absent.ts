import { removingProof, type RemovingProof } from '../../model/report.ts'
import type { Ending, Removals, Run } from '../../model/run.ts'
import { rowsGone } from '../refusals.ts'
import { requireTaken } from '../pages/page-accounting.ts'
import { given, replacing, rowsOf } from '../port/fragments.ts'
import { sql, sqlTime, text } from '../port/sql.ts'
import { countOf, type Session } from '../port/store.ts'
import {
  type Absences,
  absencesOf,
  decideAbsences,
  type Decision,
  type Gone,
  type Missing,
  NO_ABSENCES,
  NONE_GONE,
} from './removal-rule.ts'
import { updateStamp } from '../runs/lease.ts'
import { areTooManyAbsent, findAbsent, findListedBefore, holdsReceived, markRowsListed } from './find-absent.ts'
import { areDiscarded, holdBack, release, removeRows } from './held-removals.ts'
import { findUnjudged } from './older-list.ts'

/**
 * Marks absent customers of a scan as missing, and those absent often enough as removed. After scans that are not proven, only customers with
 * a `confirmed` absence are removed. Too many removals at once are held back, and then no customer is marked. If a search found one of them,
 * or exactly the newest customers are absent, the scan loses its proof and no customer is marked. Throws MirrorUnusable `replaced` where
 * customers that the run received are not in the mirror.
 */
export async function markAbsent(session: Session, run: Run, ending: Ending, nowMs: number): Promise<Absences> {
  const { removals, serviceMs } = ending
  const proof = removingProof(ending)
  if (proof === undefined || removals === undefined) {
    if (!(await holdsReceived(session, run))) throw rowsGone(run.organization)
    return NO_ABSENCES
  }
  return await markBy(session, run, { ...removals, proof, serviceMs }, nowMs)
}

/** Marks customers that a quick run found absent as missing, except the newest alone. That counts as no absence, and removes no customer. */
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
  await markMissing(session, run, missing, { proof: 'whole', nowMs })
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
  const isDiscarded = isTooMuch && decision.held !== undefined && (await areDiscarded(session, run, absent))
  await carryOut(session, run, isDiscarded ? { ...decision, held: undefined } : decision, { proof, nowMs })
  return absencesOf(decision)
}

type Marking = { proof: RemovingProof; nowMs: number }

async function carryOut(session: Session, run: Run, { listed, held, missing }: Decision, marking: Marking) {
  const found = listed.map(({ rowId }) => rowId)
  await markRowsListed(session, run, found, marking.nowMs)
  await release(session, run, found)
  if (held !== undefined) await holdBack(session, run, held)
  await markMissing(session, run, missing, marking)
  const removed = missing.flatMap(({ row, isRemoved }) => (isRemoved ? [row.rowId] : []))
  await removeRows(session, run, removed, marking.nowMs)
}

/** Marks customers as missing, and counts the absences that count. */
async function markMissing(
  session: Session,
  run: Pick<Run, 'organization'>,
  missing: readonly Pick<Missing, 'row' | 'isCounted'>[],
  { proof, nowMs }: Marking,
) {
  if (missing.length === 0) return
  const rowIds = missing.map(({ row }) => row.rowId)
  const stamp = await updateStamp(session, nowMs)
  await session.run(sql`
    UPDATE customers SET missing_since = ${sqlTime(nowMs)}, updated_at = ${stamp}
    WHERE ${rowsOf(run.organization, rowIds)} AND missing_since IS NULL`)
  const rows = sql`customers WHERE ${rowsOf(run.organization, rowIds)} AND missing_since IS NULL`
  const unmarked = await countOf(session, sql`SELECT count(*) FROM ${rows}`)
  requireTaken(run, 'customers', { given: unmarked, taken: 0 })
  // What was counted before: nothing, at the first absence since the customer was listed.
  const counted = missing.map(({ row, isCounted }) => ({
    row_id: row.rowId,
    proven: row.missingProven + Number(isCounted && proof === 'proven'),
    scans: row.missingScans + Number(isCounted && proof !== 'whole'),
    whole: row.missingWhole + Number(isCounted),
  }))
  const columns = { row_id: 'bigint', proven: 'bigint', scans: 'bigint', whole: 'bigint' } as const
  const noted = await session.run(sql`
    INSERT INTO absences (organization, row_id, proven, scans, whole)
    SELECT ${run.organization}, row_id, proven, scans, whole FROM ${given(counted, columns)} WHERE true
    ON CONFLICT (organization, row_id) ${text(replacing('proven', 'scans', 'whole'))}`)
  requireTaken(run, 'absences', { given: counted.length, taken: noted })
}
