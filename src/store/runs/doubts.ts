import { RowSet } from '../../list/row-set.ts'
import type { Run } from '../../run.ts'
import { isIn } from '../port/fragments.ts'
import { sql, text } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { IS_QUICK } from '../schema/run-conditions.ts'

/** Rows that may have changed since the list was read, as `Run` has them. */
type Doubts = Pick<Run, 'doubted' | 'changedSince' | 'lastEdit'>

/** The edits by hand that a run knows of, by the set of doubted rows that they are part of. */
const editsOf = new WeakMap<RowSet, number[]>()

/** Customers that may differ from the list: written since it was read, by a run or by hand, or no longer listed. */
export async function findDoubts(session: Session, organization: string): Promise<Doubts> {
  const edits = await session.all<{ edit: number; row_id: number }>(sql`
    SELECT edit, row_id FROM edited_customers WHERE organization = ${organization} ORDER BY edit`)
  const doubted = RowSet.of(edits.map(({ row_id }) => row_id))
  editsOf.set(
    doubted,
    edits.map(({ edit }) => edit),
  )
  const add = (rowIds: readonly number[]) => {
    for (const rowId of rowIds) doubted.add(rowId)
  }
  add(
    await session.numbers(sql`
    SELECT row_id FROM customers WHERE organization = ${organization} AND (missing_since IS NOT NULL OR removed_at IS NOT NULL)`),
  )
  const list = await session.first<{ run_id: number }>(
    sql`SELECT run_id FROM lists WHERE organization = ${organization}`,
  )
  // Customers are looked at only where runs have written any since.
  const since = list === undefined ? [] : await runsSince(session, organization, list.run_id)
  if (list !== undefined && since.length > 0)
    add(
      await session.numbers(
        sql`SELECT row_id FROM customers WHERE organization = ${organization} AND last_run_id > ${list.run_id}`,
      ),
    )
  const quick = since.filter(({ is_quick }) => Boolean(is_quick)).map(({ id }) => id)
  const edited = new Set(edits.map(({ row_id }) => row_id))
  const changed = quick.length === 0 ? [] : await changedBy(session, organization, quick)
  return {
    doubted,
    changedSince: RowSet.of(changed.filter((rowId) => !edited.has(rowId))),
    lastEdit: edits.at(-1)?.edit ?? 0,
  }
}

type Since = { id: number; is_quick: boolean | number }

/** The runs that have written customers since a list was read; quick ones that have updated some are `is_quick`. */
async function runsSince(session: Session, organization: string, runId: number): Promise<Since[]> {
  return session.all<Since>(sql`
    SELECT id, ${text(IS_QUICK)} AND updated > 0 AS is_quick FROM runs
    WHERE organization = ${organization} AND id > ${runId} AND inserted + updated > 0`)
}

/** Customers that quick runs found changed in the service. The changes of each are looked up: a server would rather read all that there ever were. */
async function changedBy(session: Session, organization: string, runs: readonly number[]): Promise<number[]> {
  return session.numbers(sql`
    SELECT row_id FROM customers WHERE organization = ${organization} AND ${isIn('last_run_id', runs)} AND (
      SELECT true FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id
        AND run_id = last_run_id AND change = 'changed' LIMIT 1)`)
}

/** Deletes the edits that the run knew of. One that was made since is for the next run. */
export async function forgetEdits(
  session: Session,
  { organization, doubted }: Pick<Run, 'organization' | 'doubted'>,
): Promise<void> {
  const edits = editsOf.get(doubted) ?? []
  if (edits.length > 0)
    await session.run(sql`DELETE FROM edited_customers WHERE organization = ${organization} AND ${isIn('edit', edits)}`)
}
