import { partsOf, rowsSince, type LaterOrder } from '../model/later-order.ts'
import { EMPTY_LIST } from '../model/list-as-read.ts'
import { ListMemory } from '../sync/list-memory.ts'
import { PlaceIndex } from '../sync/place-index.ts'
import { mostQuickRequests, type QuickLimit } from './quick-limit.ts'
import type { Ending, RemovalRule, Run } from '../model/run.ts'
import type { Certificate } from '../scan/scan.ts'
import type { Conclusion } from './conclusion.ts'
import { quickScan, requestsOfFullScan } from './quick-scan.ts'
import type { Reason } from '../model/reasons.ts'
import { readPages, type ListSettings, type ReadingLimits } from '../sync/read-list.ts'
import { limitRequests } from './request-limit.ts'
import { searchForGone } from './search-gone.ts'

export type QuickSettings = ListSettings & {
  /** The most requests of the run, searches included. */
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
  const memory = new ListMemory(run.list, run)
  const { columns, later } = run.list
  const rowIds = rowsSince(columns.rowIds, later)
  const index = PlaceIndex.over(rowIds)
  const { pageSize } = settings
  const maxRequests = mostQuickRequests(settings.quick, requestsOfFullScan(rowIds.length, pageSize))
  const scan = quickScan({
    expected: { rowIds, placeOf: (rowId) => index.find(rowId) },
    ...{ maxRequests, pageSize, turn: run.id, pending: later?.pending ?? [] },
  })
  const source = limitRequests(settings.source, maxRequests)
  const certificate = await readPages({ ...settings, source }, run, limits, { scan: source.limit(scan), memory })
  const found = scan.conclusion()
  const signal = AbortSignal.any([limits.stop, limits.abort])
  const { gone, pending } = await searchForGone({ ...settings, source, signal }, run, found, certificate.pageSize)
  return {
    ...ending,
    reasons: reasonsOf(certificate, found.isAnyUnmet || pending.length > 0),
    trustedPages: found.trustedPages,
    absentRows: gone,
    openAbsences: pending.length,
    later: laterOrderOf(found, pending, columns.rowIds),
    certificate: { ...certificate, gone: gone.length, pending: pending.length },
  }
}

/** A run that reached its limit leaves customers open anyway. */
function reasonsOf({ reasons }: Certificate, isAnyOpen: boolean): Reason[] {
  return isAnyOpen && !reasons.includes('quick-budget') ? [...reasons, 'not-confirmed'] : [...reasons]
}

/** Undefined where the rows stand in another order altogether: then the list as last read is the better guess next time. */
function laterOrderOf(
  { laterOrder }: Conclusion,
  pending: readonly number[],
  before: Uint32Array,
): LaterOrder | undefined {
  if (laterOrder === undefined) return undefined
  const index = PlaceIndex.over(before)
  return { parts: partsOf(laterOrder, (rowId) => index.find(rowId)), pending: [...pending] }
}
