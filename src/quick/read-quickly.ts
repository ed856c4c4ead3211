import { EMPTY_LIST } from '../model/list-as-read.ts'
import type { Candidate, Ending, RemovalRule, Run } from '../model/run.ts'
import type { Mirror } from '../store/mirror.ts'
import type { Source } from '../source/customers.ts'
import { confirmAbsences, MOST_CONTROLS, MOST_REQUESTS } from '../sync/confirm-absences.ts'
import { KnownList, PlaceIndex } from '../sync/list-as-read.ts'
import { readPages, type ListSettings, type ReadingLimits } from '../sync/read-list.ts'
import type { Conclusion } from './comparison.ts'
import { QuickScan, RequestBudget } from './quick-scan.ts'

/** The most requests of a quick run, searches included. */
export type QuickLimit = 'usual' | number

/** A share of the requests of a full scan, of which the windows overlap: in a list by name, half as many find a tenth less. */
const SHARE = 1.15 / 12
/** In a short list, a share of a scan finds next to nothing. */
const LEAST_OF_SHARE = 40

export function usualQuickLimit(customers: number, pageSize: number): number {
  return Math.max(LEAST_OF_SHARE, Math.ceil((SHARE * customers) / pageSize))
}

/** Reads and saves the few pages that show who came and who left, and searches for the latter. Reads nothing where the order is not known. */
export async function readQuickly(
  settings: ListSettings & { requestLimit: QuickLimit; removals: RemovalRule; random: () => number },
  run: Run,
  limits: ReadingLimits,
): Promise<Omit<Ending, 'source'>> {
  const removals = { rule: settings.removals, confirmed: new Set<string>() }
  const ending = { status: 'partial', proof: 'unproven', readToEnd: false, removals } as const
  if (run.list === EMPTY_LIST) return { ...ending, reasons: ['quick', 'no-order'], trustedPages: 0 }
  const { rowIds, pending: open } = run.list.later ?? { rowIds: run.list.columns.rowIds, pending: [] }
  const index = PlaceIndex.over(rowIds)
  const { pageSize, requestLimit, source } = settings
  const budget = new RequestBudget(requestLimit === 'usual' ? usualQuickLimit(rowIds.length, pageSize) : requestLimit)
  const expected = { rowIds, placeOf: (rowId: number) => index.find(rowId) }
  const scan = new QuickScan({ expected, budget, pageSize, turn: run.id, pending: open })
  const limited = { readPage: budget.limited(source.readPage), search: budget.limited(source.search) }
  const known = new KnownList(run.list, run)
  const certificate = await readPages({ ...settings, source: limited }, run, limits, { scan, known })
  const found = scan.conclusion()
  const searching = { ...settings, source: limited, budget, signal: limits.stop }
  const { gone, pending } = await searchForGone(searching, run, found, certificate.pageSize)
  // A run that reached its limit leaves customers open anyway.
  const isAnyOpen = (found.isAnyUnmet || pending.length > 0) && !certificate.reasons.includes('request-limit')
  return {
    ...ending,
    reasons: isAnyOpen ? [...certificate.reasons, 'not-confirmed'] : certificate.reasons,
    trustedPages: found.trustedPages,
    absentRows: gone,
    openAbsences: pending.length,
    // Where the rows stand in another order altogether, the list as last read is the better guess next time.
    later: found.laterOrder && { rowIds: Uint32Array.from(found.laterOrder), pending },
    certificate: { ...certificate, gone: gone.length, pending: pending.length },
  }
}

type SearchSettings = {
  source: Pick<Source, 'readPage' | 'search'>
  mirror: Pick<Mirror, 'findGone' | 'findListed'>
  budget: RequestBudget
  random: () => number
  signal: AbortSignal
}

/** A customer is searched for in three fields, and so are those by which searching is tested. */
const SEARCHES = 3

/**
 * Searches for customers that left their places, unless an answer shows that they are gone: one may stand where another one left, so that the
 * numbers agree. A customer is pending until the next full run if searches by two fields do not confirm the absence, or none can be made.
 */
export async function searchForGone(
  { source, budget, mirror, random, signal }: SearchSettings,
  run: Run,
  { gone, isCertain, pending }: Pick<Conclusion, 'gone' | 'isCertain' | 'pending'>,
  pageSize: number,
): Promise<Pick<Conclusion, 'gone' | 'pending'>> {
  if (gone.length === 0) return { gone, pending }
  const known = await mirror.findGone(run, gone)
  const isShown = ({ id, createdAt, createdAtUtc }: Candidate) =>
    createdAtUtc !== null && isCertain({ id, createdAt: createdAt ?? undefined })
  const certain = new Set(known.filter(isShown))
  const candidates = known.filter((candidate) => !certain.has(candidate))
  if (candidates.length === 0) return { gone: rowsOf([...certain]), pending }
  const { left } = budget
  const most = Math.min(left, MOST_REQUESTS)
  const searched = candidates.slice(0, Math.max(0, Math.floor(most / SEARCHES) - MOST_CONTROLS))
  const controls = await mirror.findListed(run, MOST_CONTROLS)
  const spent = new AbortController()
  const searching = AbortSignal.any([signal, spent.signal])
  const spend = () => {
    if (!budget.take()) spent.abort()
    searching.throwIfAborted()
  }
  const { found, confirmed, isSample, isPostponed } = await confirmAbsences(searched, controls, {
    async search(text) {
      spend()
      return source.search(text, { size: pageSize, signal })
    },
    async askForPage() {
      spend()
      const { release } = await source.readPage({ page: 1, size: pageSize }, { signal })
      release?.()
    },
    requestsMade: () => left - budget.left,
    most,
    random,
    signal: searching,
    confirmedBy: 'two fields',
  })
  // Searches that had to be repeated left too few requests for the others.
  const absent = !isPostponed && !isSample ? searched.filter(({ id }) => confirmed.has(id)) : []
  const open = candidates.filter((candidate) => found?.has(candidate.id) !== true && !absent.includes(candidate))
  return { gone: rowsOf([...certain, ...absent]), pending: [...pending, ...rowsOf(open)] }
}

function rowsOf(some: readonly Candidate[]): number[] {
  return some.map(({ rowId }) => rowId)
}
