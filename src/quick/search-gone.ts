import type { Candidate, Run } from '../model/run.ts'
import type { Conclusion } from './conclusion.ts'
import type { Mirror } from '../model/mirror.ts'
import { confirmAbsences, MOST_CONTROLS, MOST_REQUESTS } from '../sync/confirm-absences.ts'
import type { LimitedSource } from './request-limit.ts'
import { textsOfCandidate } from '../sync/search-texts.ts'

type SearchSettings = {
  source: Pick<LimitedSource, 'readPage' | 'search' | 'counters' | 'room'>
  mirror: Pick<Mirror, 'findGone' | 'findListed'>
  random: () => number
  signal: AbortSignal
}

/** Rows that have left the list, and rows of which that is not known yet. */
type Gone = Pick<Conclusion, 'gone' | 'pending'>

/** The most searches for customers by which searching is tested, in three fields. */
const TESTS = 3 * MOST_CONTROLS

/**
 * Searches for customers that left their places in an order in which customers may move: one may stand where another one left, so
 * that the numbers agree. A customer that is found has not left. A customer is pending until the next full run if searches by two
 * fields do not confirm the absence, or if too few requests are left to search.
 */
export async function searchForGone(
  { source, mirror, random, signal }: SearchSettings,
  run: Run,
  { gone: left, certain, pending }: Conclusion,
  pageSize: number,
): Promise<Gone> {
  if (certain.length === left.length) return { gone: left, pending }
  const candidates = await mirror.findGone(run, [...new Set(left).difference(new Set(certain))])
  const most = Math.min(source.room, MOST_REQUESTS)
  const searched = affordable(candidates, most - TESTS)
  const controls = await mirror.findListed(run, MOST_CONTROLS)
  const spent = new AbortController()
  const searching = AbortSignal.any([signal, spent.signal])
  const { found, confirmed, isSample, isPostponed } = await confirmAbsences(searched, controls, {
    async search(text) {
      if (source.room < 1) spent.abort()
      searching.throwIfAborted()
      return source.search(text, { size: pageSize, signal })
    },
    askForPage: async () => (await source.readPage({ page: 1, size: pageSize }, { signal })).release?.(),
    requestsMade: () => source.counters.requests,
    most,
    random,
    signal: searching,
    confirmedBy: 'two fields',
  })
  // Searches that had to be repeated left too few requests for the others.
  const areAllMade = isPostponed !== true && isSample !== true
  const absent = areAllMade ? searched.filter(({ id }) => confirmed.has(id)) : []
  const open = candidates.filter((candidate) => found?.has(candidate.id) !== true && !absent.includes(candidate))
  return { gone: [...certain, ...absent.map(rowOf)], pending: [...pending, ...open.map(rowOf)] }
}

function rowOf({ rowId }: Candidate): number {
  return rowId
}

/** As many of the candidates as can be searched for by so many requests. */
function affordable(candidates: readonly Candidate[], requests: number): Candidate[] {
  let left = requests
  return candidates.filter((candidate) => {
    const searches = textsOfCandidate(candidate).length
    if (searches > left) return false
    left -= searches
    return true
  })
}
