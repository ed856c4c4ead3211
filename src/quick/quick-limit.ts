/** The most requests of a quick run: a share of those of a full scan, or a number. */
export type QuickLimit = { share: number } | { requests: number }

/** With a share, a quick run may always send so many: in a short list, a share of a scan finds next to nothing. */
export const LEAST_OF_SHARE = 40

/** The most requests of a quick run of a list that a full scan reads in `fullScan` requests. */
export function mostQuickRequests(limit: QuickLimit, fullScan: number): number {
  return 'requests' in limit ? limit.requests : Math.max(LEAST_OF_SHARE, Math.ceil(limit.share * fullScan))
}
