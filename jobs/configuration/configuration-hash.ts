import { createHash } from 'node:crypto'

/**
 * A hash of the content of a configuration file, in hex: the same for every worker that has read such a file, in whichever folder,
 * with whichever comments and order of keys. Left out are secrets that are written into the file, and the address of the queue,
 * which may hold a password.
 */
export function configurationHash(content: unknown): string {
  const { queue: _queue, ...rest } = isMap(content) ? content : { content }
  return createHash('sha256')
    .update(JSON.stringify(rest, inOrder) ?? '')
    .digest('hex')
}

/** For `JSON.stringify`: keys sorted, and texts left out that stand where a secret may. */
function inOrder(_key: string, value: unknown): unknown {
  if (!isMap(value)) return value
  const kept = Object.entries(value).filter(([key, each]) => !SECRETS.has(key) || isMap(each))
  return Object.fromEntries(kept.toSorted(([left], [right]) => (left < right ? -1 : 1)))
}

const SECRETS: ReadonlySet<string> = new Set(['apiKey', 'secret'])

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
