import { RowSet } from '../../../list/row-set.ts'
import type { Run } from '../../../run.ts'
import { IS_QUICK } from '../../sql/run-conditions.ts'
import { ROWS_AS_BYTES, rowsInBytes } from './row-numbers.ts'
import type { Session } from '../session.ts'

/** Rows that may have changed since the list was read, as `Run` has them. */
type Doubts = Pick<Run, 'doubted' | 'changedSince' | 'lastEdit'>

/** The edits by hand that a run knows of: rows, and the numbers of their edits. */
type Edits = { rowIds: number[]; numbers: number[] }

/** Edits by the set of doubted rows that they are part of. */
const editsOf = new WeakMap<RowSet, Edits>()

/** All of it in one statement, and so from one moment. Customers are looked at only where runs have written any since. */
export async function findDoubts(session: Session, organization: string): Promise<Doubts> {
  const found = await session.first<Found>(FIND_DOUBTS, organization)
  const doubted = RowSet.of(rowsInBytes(found?.doubted ?? null))
  const changedSince = RowSet.of(rowsInBytes(found?.changed ?? null))
  const edits: Edits = JSON.parse(found?.edits ?? '{"rowIds": [], "numbers": []}')
  for (const rowId of edits.rowIds) doubted.add(rowId)
  editsOf.set(doubted, edits)
  return { doubted, changedSince, lastEdit: Math.max(0, ...edits.numbers.slice(-1)) }
}

type Found = { doubted: Buffer | null; changed: Buffer | null; edits: string }

const WROTE_SINCE = `SELECT FROM runs, list WHERE runs.organization = $1 AND runs.id > list.run_id`

const QUICKLY = `${IS_QUICK} AND updated > 0`

/**
 * The run that stored the list; each condition on `runs` is asked once, and spares the look at customers. The changes of customers that
 * quick runs wrote are looked up one by one: the server would rather begin with all changes that there ever were.
 */
const FIND_DOUBTS = `
  WITH list AS (SELECT run_id FROM lists WHERE organization = $1),
  edited AS (SELECT row_id, edit FROM edited_customers WHERE organization = $1),
  written AS MATERIALIZED (
    SELECT row_id, id, last_run_id FROM customers
    WHERE organization = $1 AND EXISTS (${WROTE_SINCE} AND ${QUICKLY}) AND last_run_id > (SELECT run_id FROM list)
      AND last_run_id = ANY (ARRAY(SELECT runs.id FROM runs, list
        WHERE runs.organization = $1 AND runs.id > list.run_id AND ${QUICKLY}))
      AND row_id NOT IN (SELECT row_id FROM edited)
  )
  SELECT (
      SELECT ${ROWS_AS_BYTES} FROM (
        SELECT row_id FROM customers
        WHERE organization = $1 AND last_run_id > (SELECT run_id FROM list)
          AND EXISTS (${WROTE_SINCE} AND inserted + updated > 0)
        UNION ALL
        SELECT row_id FROM customers
        WHERE organization = $1 AND (missing_since IS NOT NULL OR removed_at IS NOT NULL)
      ) AS rows
    ) AS doubted,
    (
      SELECT ${ROWS_AS_BYTES} FROM written
      WHERE (
        SELECT true FROM changes
        WHERE changes.organization = $1 AND changes.id = written.id AND run_id = last_run_id AND change = 'changed' LIMIT 1)
    ) AS changed,
    (
      SELECT json_build_object('rowIds', coalesce(json_agg(row_id ORDER BY edit), '[]'),
        'numbers', coalesce(json_agg(edit ORDER BY edit), '[]'))
      FROM edited
    ) AS edits`

/** Deletes the edits that the run knew of. One that was made since, or became visible since, is for the next run. */
export async function forgetEdits(session: Session, { organization, doubted }: Run): Promise<void> {
  const { rowIds, numbers } = editsOf.get(doubted) ?? { rowIds: [], numbers: [] }
  if (rowIds.length === 0) return
  await session.run(
    `DELETE FROM edited_customers USING unnest($2::bigint[], $3::bigint[]) AS known (row_id, edit)
     WHERE organization = $1 AND edited_customers.row_id = known.row_id AND edited_customers.edit = known.edit`,
    organization,
    rowIds,
    numbers,
  )
}
