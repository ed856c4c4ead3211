/*
 * Conditions on rejects that every store asks in the same words.
 */

/** Whether the record of a row of `customers` was not a reject when it was received last. */
export const NOT_REJECTED = `NOT EXISTS (SELECT 1 FROM rejects
  WHERE rejects.organization = customers.organization AND record_key = customers.id AND resolved_at IS NULL)`

/** The first run of the scan of a run: that run, or the interrupted one with which the scan began. */
export const firstOfScan = (run: string) => `(
  WITH RECURSIVE scan (id, resumed_from) AS (
    SELECT id, resumed_from FROM runs WHERE id = ${run}
    UNION ALL SELECT runs.id, runs.resumed_from FROM runs JOIN scan ON runs.id = scan.resumed_from
  )
  SELECT MIN(id) FROM scan
)`

/** The open rejects from before the scan of a run, with the customers of the same ids. */
export const openBefore = (organization: string, run: string) => `
  SELECT reject_id, row_id, customers.id FROM rejects
  JOIN customers ON customers.organization = rejects.organization AND customers.id = record_key
  WHERE rejects.organization = ${organization} AND resolved_at IS NULL AND rejects.run_id < ${firstOfScan(run)}`
