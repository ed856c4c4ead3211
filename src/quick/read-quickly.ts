import { EMPTY_LIST } from '../model/list-as-read.ts'
import { KnownList, PlaceIndex } from '../sync/list-as-read.ts'
import type { Ending, RemovalRule, Run } from '../model/run.ts'
import type { Certificate } from '../scan/scan.ts'
import { quickScan, requestsOfFullScan } from './quick-scan.ts'
import type { Reason } from '../model/reasons.ts'
import { readPages, type ListSettings, type ReadingLimits } from '../sync/read-list.ts'
import { limitRequests } from './request-limit.ts'
import { searchForGone } from './search-gone.ts'

/** The most requests of a quick run, searches included. */
export type QuickLimit = 'usual' | { requests: number }

/** In a list by name, half as many find a tenth less. */
const SHARE = 1 / 12

/** In a short list, a share of a scan finds next to nothing. */
const LEAST_OF_SHARE = 40

/** The most requests of a quick run of a list that a full scan reads in `fullScan` requests. */
export function usualQuickLimit(fullScan: number): number {
  return Math.max(LEAST_OF_SHARE, Math.ceil(SHARE * fullScan))
}

export type QuickSettings = ListSettings & {
  quick: QuickLimit
  removals: RemovalRule
  random: () => number
}

/**
 * Reads the few pages that show who came and who left since the list was last read, saves them, and searches for those who seem to have
 * left. Reads nothing where the order of the list is not known.
 */
export async function readQuickly(
  settings: QuickSettings,
  run: Run,
  limits: ReadingLimits,
): Promise<Omit<Ending, 'source'>> {
  const removals = { rule: settings.removals, confirmed: new Set<string>() }
  const ending = { status: 'partial', proof: 'unproven', readToEnd: false, removals } as const
  if (run.list === EMPTY_LIST) return { ...ending, reasons: ['quick', 'no-order'], trustedPages: 0 }
  const { rowIds, pending: open } = run.list.later ?? { rowIds: run.list.columns.rowIds, pending: [] }
  const index = PlaceIndex.over(rowIds)
  const { pageSize } = settings
  const usual = usualQuickLimit(requestsOfFullScan(rowIds.length, pageSize))
  const maxRequests = settings.quick === 'usual' ? usual : settings.quick.requests
  const scan = quickScan({
    expected: { rowIds, placeOf: (rowId) => index.find(rowId) },
    ...{ maxRequests, pageSize, turn: run.id, pending: open },
  })
  const source = limitRequests(settings.source, maxRequests)
  const certificate = await readPages({ ...settings, source }, run, limits, {
    scan: source.limit(scan),
    known: new KnownList(run.list, run),
  })
  const found = scan.conclusion()
  const signal = AbortSignal.any([limits.stop, limits.abort])
  const { gone, pending } = await searchForGone({ ...settings, source, signal }, run, found, certificate.pageSize)
  return {
    ...ending,
    reasons: reasonsOf(certificate, found.isAnyUnmet || pending.length > 0),
    trustedPages: found.trustedPages,
    absentRows: gone,
    openAbsences: pending.length,
    // Where the rows stand in another order altogether, the list as last read is the better guess next time.
    later: found.laterOrder && { rowIds: Uint32Array.from(found.laterOrder), pending },
    certificate: { ...certificate, gone: gone.length, pending: pending.length },
  }
}

/** A run that reached its limit leaves customers open anyway. */
function reasonsOf({ reasons }: Certificate, isAnyOpen: boolean): Reason[] {
  return isAnyOpen && !reasons.includes('quick-budget') ? [...reasons, 'not-confirmed'] : [...reasons]
}
