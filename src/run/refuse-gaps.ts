import { ContractBroken } from '../errors/errors.ts'
import type { RememberedWindow } from '../list-memory/list-recorder.ts'
import type { Certificate } from '../scan/certificate.ts'

/** A reading may leave out this share of the list, such as single pages that a cache answers. */
const MOST_LEFT_OUT = 0.1
/** And so many single records that the service cannot send, which are known as holes: of a short list they may be a larger share. */
const MOST_HOLES = 20

/**
 * Throws ContractBroken `page-mismatch` when the pages of a reading left out so much of the list that it was not read: positions
 * before its last customer, or all of them. Where empty pages stand behind the last customer, the total may be too high.
 */
export function refuseGaps(
  windows: Iterable<Pick<RememberedWindow, 'start' | 'count'>>,
  { total = 0, reasons, holes }: Pick<Certificate, 'total' | 'reasons' | 'holes'>,
  organization: string,
): void {
  const { read, reach } = coverOf(windows)
  const isTotalTrusted = reach === 0 || reasons.includes('cached-answer') || reasons.includes('too-large')
  const promised = isTotalTrusted ? Math.max(reach, total) : reach
  const known = holes.reduce((sum, { size }) => sum + size, 0)
  if (promised - read - Math.min(known, MOST_HOLES) <= promised * MOST_LEFT_OUT) return
  throw new ContractBroken(
    `${organization}: the pages of the service held ${read} of the first ${promised} customers that it counts. What was read is kept. ` +
      'Look for a cache or a proxy in between, and for errors of the service, then sync again.',
    { code: 'page-mismatch' },
  )
}

/** How many positions the windows cover, and the position after the last one. */
function coverOf(windows: Iterable<Pick<RememberedWindow, 'start' | 'count'>>): { read: number; reach: number } {
  let read = 0
  let reach = 0
  const filled = [...windows].filter(({ count }) => count > 0).toSorted((one, other) => one.start - other.start)
  for (const { start, count } of filled) {
    const end = start + count
    read += Math.max(0, end - Math.max(start, reach))
    reach = Math.max(reach, end)
  }
  return { read, reach }
}
