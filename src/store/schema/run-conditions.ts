import type { Report } from '../../report.ts'

/*
 * Conditions on rows of `runs` that every store asks in the same words.
 */

/** Whether a run read the list to its end, and kept most of it: the condition of `freshness.read_as_of`. */
export const READ_TO_END =
  `status = 'complete' AND CAST(reasons AS text) NOT LIKE '%"page-limit"%'` +
  ` AND CAST(reasons AS text) NOT LIKE '%"cached-answer"%' AND rejected <= received / 2.0`

/** The same of a run that ends. */
export function hasReadToEnd({
  status,
  reasons,
  rejected,
  received,
}: Pick<Report, 'status' | 'reasons' | 'rejected' | 'received'>): boolean {
  const isWhole = status === 'complete' && !reasons.includes('page-limit') && !reasons.includes('cached-answer')
  return isWhole && rejected <= received / 2
}

/** Whether a run is no quick run: only those read the whole list, and are due every night. */
export const IS_FULL = 'trusted_pages IS NULL'
export const IS_QUICK = 'trusted_pages IS NOT NULL'

/** The runs that freshness, history and removals rest on, as a list of ids: the first that read the list, and the latest of each kind. */
export function runsToKeep(from: string): string {
  return `SELECT MAX(id) AS id ${from} UNION ALL SELECT MAX(id) ${from} AND status <> 'running'
    UNION ALL SELECT MAX(id) ${from} AND status <> 'running' AND ${IS_FULL}
    UNION ALL SELECT MIN(id) ${from} AND ${READ_TO_END} UNION ALL SELECT MAX(id) ${from} AND ${READ_TO_END}
    UNION ALL SELECT MAX(id) ${from} AND shape_accepted_at IS NOT NULL
    UNION ALL SELECT MAX(id) ${from} AND status = 'complete' AND proof IN ('proven', 'settled')
    UNION ALL SELECT MAX(id) ${from} AND status = 'complete'
      AND (proof <> 'unproven' OR CAST(reasons AS text) = '["plain-scan"]')`
}

/** The start of the very first run of an organization. */
export const firstRunOf = (organization: string) =>
  `(SELECT started_at FROM runs WHERE organization = ${organization} ORDER BY id LIMIT 1)`
