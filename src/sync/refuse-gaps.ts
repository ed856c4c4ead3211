import { ContractBroken } from '../errors/errors.ts'
import { RowSet } from '../model/row-set.ts'
import type { WindowRead } from './list-as-read.ts'
import type { Certificate } from '../scan/scan.ts'
import type { Reason } from '../model/reasons.ts'

/** A reading may leave out this share of the list, such as single pages that a cache answers. */
const MOST_LEFT_OUT = 0.1
/** And so many single records that the service cannot send, which are known as holes: of a short list they may be a larger share. */
const MOST_HOLES = 20

/** Reasons for which the positions that pages state are not believed either: a service that rounds page sizes states others. */
const DOUBTS: ReadonlySet<Reason> = new Set<Reason>(['short-page', 'total-mismatch'])

/** A window that was read: where it says that it stands, and its customers by their row numbers, 0 for a record without one. */
type Filled = Pick<WindowRead, 'start' | 'count' | 'from'> & { columns: Pick<WindowRead['columns'], 'rowIds'> }

/**
 * Throws ContractBroken `page-mismatch` when the pages of a reading left out so much of the list that it was not read: positions
 * before its last customer, or all of them. `windows` are in the order of their positions. Where empty pages stand behind the last customer, the total may be too high.
 */
export function refuseGaps(
  windows: readonly Filled[],
  { proof, total = 0, reasons, holes, limit }: Pick<Certificate, 'proof' | 'total' | 'reasons' | 'holes' | 'limit'>,
  organization: string,
): void {
  const filled = windows.filter(({ count }) => count > 0)
  const isDoubted = proof === 'unproven' && reasons.some((reason) => DOUBTS.has(reason))
  // A list without a gap, as most are, needs no count of its customers.
  const { read, reach } = (isDoubted ? undefined : unbroken(filled)) ?? coverOf(filled, isDoubted)
  const isTotalTrusted = reach === 0 || reasons.includes('cached-answer') || reasons.includes('too-large')
  const promised = isTotalTrusted ? Math.max(reach, Math.min(total, limit ?? total)) : reach
  const known = holes.reduce((sum, { size }) => sum + size, 0)
  if (promised - read - Math.min(known, MOST_HOLES) <= promised * MOST_LEFT_OUT) return
  throw new ContractBroken(
    `${organization}: the pages of the service held ${read} of the first ${promised} customers that it counts. What was read is kept. ` +
      'Look for a cache or a proxy in between, and for errors of the service, then sync again.',
    { code: 'page-mismatch' },
  )
}

/** How much of the list was read, and the position after the last window. */
type Cover = { read: number; reach: number }

/** Undefined where positions are missing between the windows, which are in the order of their positions. */
function unbroken(filled: readonly Filled[]): Cover | undefined {
  let reach = 0
  for (const { start, count } of filled) {
    if (start > reach) return undefined
    reach = Math.max(reach, start + count)
  }
  return { read: reach, reach }
}

/** Counts the positions that the windows cover; where these are doubted, no more than the records that repeat no other window. */
function coverOf(filled: readonly Filled[], isDoubted: boolean): Cover {
  let [positions, customers, reach] = [0, 0, 0]
  const seen = new RowSet()
  for (const window of filled) {
    const { start, count } = window
    const fresh = freshRowsIn(window, seen)
    // Behind the last page, some services send that page again.
    if (fresh === 0 && start > reach) continue
    customers += fresh
    const end = start + count
    positions += Math.max(0, end - Math.max(start, reach))
    reach = Math.max(reach, end)
  }
  return { read: isDoubted ? Math.min(positions, customers) : positions, reach }
}

/** Counts the records whose customers are in no earlier window. A customer listed twice in this one stands at two positions of the list. */
function freshRowsIn({ from, count, columns }: Filled, seen: RowSet): number {
  const rowIds = columns.rowIds.subarray(from, from + count)
  const fresh = rowIds.filter((rowId) => rowId === 0 || !seen.has(rowId)).length
  for (const rowId of rowIds) seen.add(rowId)
  return fresh
}
