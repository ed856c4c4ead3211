import { requireTaken } from '../../pages/rows-taken.ts'
import { timeBefore, type Due } from '../../rules/retention-rule.ts'
import { GIVEN_ROWS } from '../given-rows.ts'
import type { Deletion } from './prune.ts'

/**
 * Deletes customers that were removed before a moment, with what their rejects and changes hold of them. The changes themselves
 * stay, without values, so that a reader of the feed misses no removal and daily counts stay right.
 */
export function customersPruning(organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return async (session, most) => {
    // A removal that is dated before its customer was first seen was dated by a wrong clock. Locked, so that none returns meanwhile.
    const old = await session.all<{ row_id: number; id: string }>(
      `SELECT row_id, id FROM customers
       WHERE organization = $1 AND removed_at < $2::timestamptz AND removed_at >= first_seen_at
       ORDER BY row_id LIMIT $3 FOR UPDATE`,
      organization,
      before,
      most,
    )
    if (old.length === 0) return 0
    const ids = old.map(({ id }) => id)
    const rowIds = old.map(({ row_id }) => row_id)
    await session.run(
      `INSERT INTO horizons (organization, customers_from) VALUES ($1, $2::timestamptz) ON CONFLICT (organization)
       DO UPDATE SET customers_from = greatest(horizons.customers_from, excluded.customers_from)`,
      organization,
      before,
    )
    await session.run(
      `UPDATE changes SET fields = '{ }'
       WHERE organization = $1 AND id = ANY (ARRAY(SELECT unnest($2::text[]))) AND fields::text IS DISTINCT FROM '{ }'`,
      organization,
      ids,
    )
    await session.run('DELETE FROM rejects WHERE organization = $1 AND record_id = ANY ($2::text[])', organization, ids)
    const deleteFrom = (table: string) =>
      session.run(`DELETE FROM ${table} WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS}`, organization, rowIds)
    await deleteFrom('held_removals')
    requireTaken({ organization }, 'customers', { given: old.length, taken: await deleteFrom('customers') })
    return old.length
  }
}
