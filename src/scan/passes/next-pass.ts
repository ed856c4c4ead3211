import { ClosedPass } from './closed-pass.ts'
import type { Findings } from '../findings.ts'
import type { Pass } from '../pass.ts'
import { equalPlan, overlappingPlan, passCap, USUAL_OVERLAP } from '../plan/planner.ts'
import type { ScanCaps } from '../scan.ts'
import { SweepPass } from './sweep-pass.ts'

/** The fewest rows to share after a pass that failed although an order vouches for the list. */
const WIDER_OVERLAP = 8

/**
 * How to read the list again: forward with more overlap if an order vouches for it, otherwise in alternating directions, so that
 * a row that moves ahead of one pass is met by the next.
 */
export function nextPass(findings: Findings, pass: number, fixedSizes: boolean, caps: ScanCaps): Pass {
  const { pageSize, total } = findings
  // A total is believed only as far as the scan may ask: a plan for a billion rows would not fit into memory.
  const cap = Math.min(passCap(total, pageSize), caps.requests)
  const backward = pass % 2 === 0
  if (fixedSizes) return new SweepPass(findings, equalPlan(total, pageSize, cap), { backward, overlapping: false })
  const vouched = findings.believed.length > 0
  const wider = Math.min(Math.floor(pageSize / 2), Math.max(WIDER_OVERLAP, findings.witnesses.longestTie + 1))
  if (!backward || (vouched && pass === 2)) return new ClosedPass(findings, vouched ? wider : USUAL_OVERLAP)
  return new SweepPass(findings, overlappingPlan(total, USUAL_OVERLAP, pageSize, cap), { backward, overlapping: true })
}
