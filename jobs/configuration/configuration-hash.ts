import { createHash } from 'node:crypto'
import { isMapping } from '../../src/config/checks/value-at.ts'

/**
 * A hash of the content of a configuration file, in hex: the same for every worker that has read such a file, in whichever folder,
 * with whichever comments and order of keys. Left out are secrets that are written into the file, and the address of the queue,
 * which may hold a password.
 */
export function configurationHash(content: unknown): string {
  const { queue: _queue, ...rest } = isMapping(content) ? content : { content }
  return createHash('sha256')
    .update(JSON.stringify(rest, inOrder) ?? '')
    .digest('hex')
}

/** For `JSON.stringify`: keys sorted, and texts left out that stand where a secret may. */
function inOrder(_key: string, value: unknown): unknown {
  if (!isMapping(value)) return value
  const kept = Object.entries(value).filter(([key, each]) => !SECRETS.has(key) || isMapping(each))
  return Object.fromEntries(kept.toSorted(([left], [right]) => (left < right ? -1 : 1)))
}

const SECRETS: ReadonlySet<string> = new Set(['apiKey', 'secret'])
