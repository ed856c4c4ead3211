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
  const rows = await session.all<{ id: string; fields: string[]; payloads: string[] }>(FIND, organization, ids)
  return new Map(rows.map(({ id, fields, payloads }) => [id, namesIn(payloads, fields)]))
}

const FIND = `
  SELECT asked.id,
    ARRAY(SELECT fields::text FROM changes
      WHERE changes.organization = $1 AND changes.id = asked.id AND fields IS NOT NULL
      ORDER BY seq DESC LIMIT ${MOST_CHANGES}) AS fields,
    ARRAY(SELECT payload FROM rejects
      WHERE rejects.organization = $1 AND rejects.record_id = asked.id
      ORDER BY seen_at DESC LIMIT ${MOST_REJECTS}) AS payloads
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
