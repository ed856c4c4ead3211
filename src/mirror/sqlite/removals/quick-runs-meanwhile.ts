import type { Run } from '../../../run.ts'
import type { Connection } from '../opening/database.ts'
import { IS_QUICK } from '../../sql/run-conditions.ts'
import { statement } from '../statement.ts'
import { markRowListed } from './absences.ts'

/**
 * The customers that quick runs wrote, or received in a reject, while the scan of this run was interrupted. They are listed, and may stand in a
 * part that was read before, where the scan does not look again: not to have read them is no absence.
 */
export function listedMeanwhile(db: Connection, run: Pick<Run, 'organization' | 'resumedFrom'>): Set<number> {
  if (run.resumedFrom === undefined) return new Set()
  const { organization, resumedFrom } = run
  const runs = statement<[Record<string, unknown>], number>(db, FOUND).pluck().all({ organization, resumedFrom })
  // Without one, no customer is read.
  if (runs.length === 0) return new Set()
  const listed = statement<[Record<string, unknown>], number>(db, LISTED).pluck()
  return new Set(listed.all({ organization, runs: JSON.stringify(runs) }))
}

/** The quick runs since the first run of the scan that have received customers. */
const FOUND = `
  WITH RECURSIVE scan (id) AS (
    SELECT @resumedFrom UNION ALL SELECT resumed_from FROM runs JOIN scan USING (id) WHERE resumed_from IS NOT NULL
  )
  SELECT id FROM runs WHERE organization = @organization AND ${IS_QUICK} AND inserted + updated + rejected > 0
    AND id > (SELECT MIN(id) FROM scan)`

const LISTED = `
  WITH found AS (SELECT value AS run_id FROM json_each(@runs))
  SELECT row_id FROM customers WHERE organization = @organization AND (last_run_id IN (SELECT run_id FROM found)
    OR id IN (SELECT record_id FROM rejects JOIN found USING (run_id) WHERE organization = @organization))`

/**
 * Marks customers as listed that this scan read before it was interrupted, and that a quick run found absent after that: the scan shows
 * them as it read them, as if there had been no quick run.
 */
export function markListed(
  db: Connection,
  run: Pick<Run, 'organization' | 'resumedFrom' | 'seen'>,
  nowMs: number,
): void {
  if (run.resumedFrom === undefined) return
  const missing = statement<[string], number>(
    db,
    'SELECT row_id FROM customers WHERE organization = ? AND missing_since IS NOT NULL AND removed_at IS NULL',
  ).pluck()
  for (const rowId of missing.all(run.organization)) if (run.seen.has(rowId)) markRowListed(db, rowId, nowMs)
}
