import { isBlank, type ReadWindow } from '../window/read-window.ts'
import type { Reason } from '../reasons.ts'

/**
 * What follows a window that was doubtful, or another one, at every attempt. `link`: it has rows that none before it had. `look behind`:
 * it has none, and nothing but a wrong or a missing total says that the list goes on. `skip`: its positions stay unread.
 */
export type Next = 'link' | 'look behind' | 'skip' | 'not-found' | 'page-mismatch' | 'repeated-page' | 'end'

/** `reach` is the end of the chain; `isPromised` says whether the total has rows where the window begins. */
export function nextAfter(
  reason: Reason,
  read: ReadWindow | undefined,
  { reach, isPromised }: { reach: number; isPromised: boolean },
): Next {
  // A page without rows is no progress: otherwise a list with too high a total would have no end.
  const isProgress = read !== undefined && read.all.length > 0 && read.reach > reach
  const isCountless = reason === 'total-mismatch' && read !== undefined && !isBlank(read)
  if ((reason === 'short-page' || isCountless) && isProgress) return 'link'
  if (isCountless) return 'look behind'
  if (reason === 'short-page' || reason === 'hole') return 'skip'
  if ((isPromised || reach > 0) && read !== undefined && isBlank(read)) return 'not-found'
  return reason === 'page-mismatch' || reason === 'repeated-page' ? reason : 'end'
}
