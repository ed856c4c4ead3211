import type { Run } from '../run.ts'
import type { Conclusion } from '../scan/quick/conclusion.ts'
import type { Source } from '../source/customers.ts'
import type { Mirror } from '../store.ts'
import { confirmAbsences, MOST_CONTROLS } from './confirm-absences.ts'

type SearchSettings = {
  source: Pick<Source, 'search' | 'counters'>
  mirror: Pick<Mirror, 'findGone' | 'findListed'>
  /** The most requests of the run. */
  maxRequests: number
  random: () => number
  signal: AbortSignal
}

/** Rows that have left the list, and rows of which that is not known yet. */
type Gone = Pick<Conclusion, 'gone' | 'pending'>

/** The most searches for one customer, and for those by which searching is tested. */
const SEARCHES = 3
const TESTS = SEARCHES * MOST_CONTROLS

/**
 * Searches for customers that left their places in an order in which customers may move: one may stand where another one left, so
 * that the numbers agree. A customer that is found has not left; those for whom the requests do not suffice stay pending.
 */
export async function searchForGone(
  { source, mirror, maxRequests, random, signal }: SearchSettings,
  run: Run,
  { gone, pending, orderStays }: Conclusion,
  pageSize: number,
): Promise<Gone> {
  if (gone.length === 0 || orderStays) return { gone, pending }
  const candidates = await mirror.findGone(run, gone)
  const room = maxRequests - source.counters.requests - TESTS
  const searched = candidates.slice(0, Math.max(0, Math.floor(room / SEARCHES)))
  const left = candidates.slice(searched.length)
  const controls = await mirror.findListed(run, MOST_CONTROLS)
  const { found, isSample, isPostponed } = await confirmAbsences(searched, controls, {
    search: (text) => source.search(text, { size: pageSize, signal }),
    requestsMade: () => source.counters.requests,
    random,
    signal,
  })
  const isUnclear = isPostponed === true || (isSample === true && found !== undefined && found.size > 0)
  if (isUnclear) return { gone: [], pending: [...pending, ...gone] }
  const absent = searched.filter(({ id }) => found?.has(id) !== true)
  return { gone: absent.map(({ rowId }) => rowId), pending: [...pending, ...left.map(({ rowId }) => rowId)] }
}
