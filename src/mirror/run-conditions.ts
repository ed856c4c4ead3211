/*
 * Conditions on rows of `runs` that every store asks in the same words.
 */

/** Whether a run read the list to its end: the condition of `freshness.read_as_of`. */
export const READ_TO_END =
  `status = 'complete' AND CAST(reasons AS text) NOT LIKE '%"page-limit"%'` +
  ` AND CAST(reasons AS text) NOT LIKE '%"cached-answer"%'`

/** Whether a run is no quick run: only those read the whole list, and are due every night. */
export const IS_FULL = 'trusted_pages IS NULL'
export const IS_QUICK = 'trusted_pages IS NOT NULL'

/** The start of the very first run of an organization. */
export const firstRunOf = (organization: string) =>
  `(SELECT started_at FROM runs WHERE organization = ${organization} ORDER BY id LIMIT 1)`
