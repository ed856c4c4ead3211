import type { Connection } from '../opening/database.ts'
import { timeBefore, type Due } from '../../rules/retention-rule.ts'
import type { Deletion } from './retention-verbs.ts'
import { statement } from '../statement.ts'

/**
 * Deletes customers that were removed before a moment, with what their rejects and changes hold of them. The changes themselves
 * stay, without values, so that a reader of the feed misses no removal and daily counts stay right.
 */
export function customersPruning(db: Connection, organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return (most) => {
    // A removal that is dated before its customer was first seen was dated by a wrong clock.
    const old = statement<[string, string, number], { row_id: number; id: string }>(
      db,
      `SELECT row_id, id FROM customers WHERE organization = ? AND removed_at < ? AND removed_at >= first_seen_at LIMIT ?`,
    ).all(organization, before, most)
    if (old.length === 0) return 0
    statement(
      db,
      `INSERT INTO horizons (organization, customers_from) VALUES (@organization, @before)
       ON CONFLICT DO UPDATE SET customers_from = max(coalesce(customers_from, ''), excluded.customers_from)`,
    ).run({ organization, before })
    const ids = JSON.stringify(old.map(({ id }) => id))
    const rowIds = JSON.stringify(old.map(({ row_id }) => row_id))
    statement(
      db,
      `UPDATE changes SET fields = '{ }'
       WHERE organization = ? AND id IN (SELECT value FROM json_each(?)) AND fields IS NOT '{ }'`,
    ).run(organization, ids)
    statement(db, 'DELETE FROM rejects WHERE organization = ? AND record_id IN (SELECT value FROM json_each(?))').run(
      organization,
      ids,
    )
    statement(db, 'DELETE FROM customers WHERE row_id IN (SELECT value FROM json_each(?))').run(rowIds)
    return old.length
  }
}
