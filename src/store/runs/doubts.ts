import { RowSet } from '../../list/row-set.ts'
import type { Run } from '../../run.ts'
import { isIn } from '../port/fragments.ts'
import { sql, text } from '../port/sql.ts'
import { type Session, together } from '../port/store.ts'
import { IS_QUICK } from '../schema/run-conditions.ts'

/** Rows that may have changed since the list was read, as `Run` has them. */
type Doubts = Pick<Run, 'doubted' | 'changedSince' | 'lastEdit'>

/** The edits by hand that a run knows of, by the set of doubted rows that they are part of. */
const editsOf = new WeakMap<RowSet, number[]>()

/** Customers that may differ from the list: written since it was read, by a run or by hand, or no longer listed. */
export async function findDoubts(session: Session, organization: string): Promise<Doubts> {
  const own = sql`organization = ${organization}`
  const stored = sql`(SELECT run_id FROM lists WHERE ${own})`
  const [edits, absent, since] = await together(
    session.all<{ edit: number; row_id: number }>(
      sql`SELECT edit, row_id FROM edited_customers WHERE ${own} ORDER BY edit`,
    ),
    session.numbers(sql`
      SELECT row_id FROM customers WHERE ${own} AND (missing_since IS NOT NULL OR removed_at IS NOT NULL)`),
    session.all<{ id: number; is_quick: boolean | number }>(sql`
      SELECT id, ${text(IS_QUICK)} AND updated > 0 AS is_quick FROM runs
      WHERE ${own} AND id > ${stored} AND inserted + updated > 0`),
  )
  const quick = since.filter(({ is_quick }) => Boolean(is_quick)).map(({ id }) => id)
  // Customers are looked at only where runs have written any since. The changes of each are looked up: a server would rather read all that there
  // ever were.
  const [written, changed] = await together(
    since.length === 0
      ? NO_ROWS
      : session.numbers(sql`SELECT row_id FROM customers WHERE ${own} AND last_run_id > ${stored}`),
    quick.length === 0
      ? NO_ROWS
      : session.numbers(sql`
        SELECT row_id FROM customers WHERE ${own} AND ${isIn('last_run_id', quick)} AND (
          SELECT true FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id
            AND run_id = last_run_id AND change = 'changed' LIMIT 1)`),
  )
  const doubted = RowSet.of(edits.map(({ row_id }) => row_id))
  const edited = new Set(doubted)
  for (const rowId of [absent, written].flat()) doubted.add(rowId)
  editsOf.set(
    doubted,
    edits.map(({ edit }) => edit),
  )
  const changedSince = RowSet.of(changed.filter((rowId) => !edited.has(rowId)))
  return { doubted, changedSince, lastEdit: edits.at(-1)?.edit ?? 0 }
}

const NO_ROWS = Promise.resolve<number[]>([])

/** Deletes the edits that the run knew of. One that was made since is for the next run. */
export async function forgetEdits(
  session: Session,
  { organization, doubted }: Pick<Run, 'organization' | 'doubted'>,
): Promise<void> {
  const edits = editsOf.get(doubted) ?? []
  if (edits.length > 0)
    await session.run(sql`DELETE FROM edited_customers WHERE organization = ${organization} AND ${isIn('edit', edits)}`)
}
