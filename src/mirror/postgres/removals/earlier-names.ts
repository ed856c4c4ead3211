import { parsedJson } from '../../../parsed-json.ts'
import type { Named } from '../../../run.ts'
import type { Session } from '../session.ts'

/** How many changes of one customer are read. Each has two values of a field. */
const MOST_CHANGES = 3

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

/** The names in the latest reject, then those after the latest changes, then those before them. */
function namesIn(payloads: readonly string[], changes: readonly string[]): Named[] {
  const reject = payloads.map(parsedJson).find((payload) => payload !== undefined)
  const latest = changes.map(parsedJson)
  return [
    ...(reject === undefined ? [] : [namesBy((field) => valueIn(reject, field))]),
    ...latest.map((change) => namesBy((field) => valueIn(valueIn(change, field), 1))),
    ...latest.map((change) => namesBy((field) => valueIn(valueIn(change, field), 0))),
  ]
}

function namesBy(valueOf: (field: keyof Named) => unknown): Named {
  return { name: textOf(valueOf('name')), username: textOf(valueOf('username')), email: textOf(valueOf('email')) }
}

function valueIn(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== (typeof key === 'number'))
    return undefined
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined
}

/** A field of a rejected record may be anything. An object or an array is searched for as JSON. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : null
}
