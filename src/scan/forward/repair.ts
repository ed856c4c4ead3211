import type { Findings } from '../findings.ts'
import type { ReadWindow } from '../window/read-window.ts'
import type { ChainProof } from '../proof/chain-proof.ts'
import { windowFrom } from '../plan/planner.ts'
import type { Overlap } from '../window/overlap.ts'
import { isFirm } from '../proof/seams.ts'
import { endOf, isSame, type Window } from '../window/window.ts'

/** Steps back from the end of a window before a gap is left open; each is four times as long as the one before. */
const MOST_STEPS = 12
/** The same when no order can prove the list: then a repair proves nothing, but may find a customer who was overlooked. */
const FEW_STEPS = 1
/** The same where no order can prove the list, but firm seams would settle it. */
const STEPS_TO_SETTLE = 4

/** A step leads over rows whose times are not sure, if they are at most this share of a page: over more it would lead no further. */
const MOST_UNSURE = 0.7

/**
 * If only `created_at` orders the list, two rows of equal time in the same places prove little: they may change places with
 * every answer. The first windows then share more rows even at rest, so that an unstable order is noticed.
 */
const FIRST_OVERLAPS = 2

/** A window of the chain that overlaps `left`, after so many steps back. */
type Linking = { overlap: Overlap; left: ReadWindow; stepsBack: number }

/** Whether an overlap carries the proof, or no further request could make it do so. */
export function holds({ overlap, left, stepsBack }: Linking, chain: ChainProof, findings: Findings): boolean {
  const isStill = overlap.still && chain.still
  if (isStill && (stepsBack > 0 || chain.windows > FIRST_OVERLAPS || !findings.witnesses.onlyTimes)) return true
  // Where hours may come twice one step is worth taking, even if the times have not run backwards yet.
  const mayLeadOver = overlap.ends?.isUnsure === true && stepsBack < stepsOverUnsure(left, findings)
  if (!mayLeadOver && chain.carries(overlap)) return true
  const mayBecomeFirm = !isFirm(overlap) && chain.seams.areFirm && stepsBack < STEPS_TO_SETTLE
  if (!mayLeadOver && chain.isToBeCounted(overlap, left)) return overlap.reordered || !mayBecomeFirm
  return !isStill && !mayBecomeFirm && stepsBack >= stepsWorthTaking(overlap, left, chain, findings)
}

function stepsWorthTaking({ shared, ends }: Overlap, left: ReadWindow, chain: ChainProof, findings: Findings): number {
  const hopes = chain.hopes()
  if (hopes.length === 0 || ends === undefined) return shared > 0 ? 0 : FEW_STEPS
  if (ends.isUnsure && shared > 0) return stepsOverUnsure(left, findings)
  if (shared === 0 || hopes.some((witness) => witness.order(ends) > 0)) return MOST_STEPS
  return left.rowOrder.tieAtEnd < findings.pageSize / 2 ? FEW_STEPS : 0
}

/**
 * A window that starts further back than `left` ended, by what the total has shrunk since and a step that grows. It ends
 * at position 0 at the latest, where a chain can always begin again. Never `refused`, the window that did not help.
 */
export function bridge(left: ReadWindow, attempt: number, findings: Findings, refused?: Window): Window {
  const shrunk = Math.max(0, (left.total ?? 0) - findings.total)
  // If equal times stand in no order, a step must lead past them; an order by id needs only the usual step.
  const isShort = unsureAtEnd(left) < findings.pageSize * MOST_UNSURE
  const together = isShort ? unsureAtEnd(left) : left.rowOrder.tieAtEnd
  const leadsOn = together < findings.pageSize * MOST_UNSURE
  const overTies = findings.witnesses.onlyTimes && leadsOn ? together + 1 : 0
  const step = Math.max(Math.ceil(findings.pageSize / 8), overTies)
  const back = farBack(shrunk, left, attempt, findings) ?? shrunk + step * 4 ** (attempt - 1)
  const position = Math.min(left.reach - 1 - Math.round(back), findings.total - 1)
  const window = windowFrom(Math.max(0, position), findings.pageSize, findings.avoid)
  if (refused === undefined || !isSame(window, refused)) return window
  return windowFrom(Math.max(0, position - step), findings.pageSize, findings.avoid)
}

/** A step over the rows at the end of a window whose times are not sure is worth taking where it leads on: there may be more of them than a page holds. */
function stepsOverUnsure(left: ReadWindow, findings: Findings): number {
  return endOf(bridge(left, 1, findings)) > left.reach ? FEW_STEPS : 0
}

/** The rows at the end of a window that a step back must lead over. */
function unsureAtEnd({ rowOrder }: ReadWindow): number {
  return rowOrder.unsureAtEnd ?? rowOrder.tieAtEnd
}

/**
 * If the list has shrunk by much, the rows were deleted before the window, and it moved by all of them, or all over the list, or behind
 * it. The second and the third attempt assume these, and aim at the middle of the window; undefined for all the others.
 */
function farBack(shrunk: number, left: ReadWindow, attempt: number, { pageSize }: Findings): number | undefined {
  if (shrunk <= pageSize / 2 || left.total === undefined) return undefined
  const middle = pageSize / 2
  return attempt === 2 ? middle + (shrunk * left.reach) / left.total : attempt === 3 ? middle : undefined
}
