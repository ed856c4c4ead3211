import type { Named } from '../../../run.ts'
import { MOST_CHANGES, namesIn } from '../../earlier-names.ts'
import type { Session } from '../session.ts'

/** How many rejects of one customer are read, to find one that is JSON. */
const MOST_REJECTS = 3

/**
 * Earlier names of customers that differ from their rows, by id: the row may have been edited by hand, a record may have been
 * rejected, and a change may have been reverted.
 */
export async function findEarlier(
  session: Session,
  organization: string,
  ids: readonly string[],
): Promise<Map<string, Named[]>> {
  if (ids.length === 0) return new Map()
  const rejected = new Map<string, string[]>()
  for (const { id, payload } of await session.all<{ id: string; payload: string }>(REJECTED, organization, ids))
    rejected.set(id, [...(rejected.get(id) ?? []), payload])
  const rows = await session.all<{ id: string; fields: string[] }>(CHANGED, organization, ids)
  return new Map(rows.map(({ id, fields }) => [id, namesIn(rejected.get(id) ?? [], fields)]))
}

/** Rejects that are resolved are in no index by their ids: for all customers at once, so that each reject is read once. */
const REJECTED = `
  SELECT record_id AS id, payload FROM (
    SELECT record_id, payload, row_number() OVER (PARTITION BY record_id ORDER BY seen_at DESC) AS number
    FROM rejects WHERE organization = $1 AND record_id = ANY ($2::text[])
  ) AS latest
  WHERE number <= ${MOST_REJECTS} ORDER BY record_id, number`

const CHANGED = `
  SELECT asked.id,
    ARRAY(SELECT fields::text FROM changes
      WHERE changes.organization = $1 AND changes.id = asked.id AND fields IS NOT NULL
      ORDER BY seq DESC LIMIT ${MOST_CHANGES}) AS fields
  FROM unnest($2::text[]) AS asked (id)`
