import { parsedJson } from '../parsed-json.ts'
import type { Named } from '../run.ts'

/** How many changes of one customer are read. Each has two values of a field. */
export const MOST_CHANGES = 3

/**
 * The names of a customer in its rejects, of which the first that is JSON counts, then those after its latest changes, then those before them.
 * The latest come first.
 */
export function namesIn(payloads: readonly string[], changes: readonly string[]): Named[] {
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
