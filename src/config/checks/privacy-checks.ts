import { fieldOf, hides, NOTHING_HIDDEN } from '../../privacy/privacy-policy.ts'
import type { Mistake } from './mistakes.ts'
import { valueAt } from './value-at.ts'

/** Finds policies that hide a field in two ways, need a key, or hide everything a search before a removal could use. */
export function privacyMistakes(data: unknown, organizations: readonly unknown[]): Mistake[] {
  return organizations.flatMap((organization, index) => {
    const scan = valueAt(organization, 'scan') ?? valueAt(data, 'defaults', 'scan')
    const own = valueAt(organization, 'privacy')
    const shared = valueAt(data, 'defaults', 'privacy')
    if (own === undefined && shared === undefined) return []
    const place = (name: string): readonly PropertyKey[] =>
      valueAt(own, name) !== undefined || valueAt(shared, name) === undefined
        ? ['organizations', index, 'privacy', ...(valueAt(own, name) === undefined ? [] : [name])]
        : ['defaults', 'privacy', name]
    const setting = (name: string) => valueAt(own, name) ?? valueAt(shared, name)
    const written = { drop: namesIn(setting('drop')), hash: namesIn(setting('hash')) }
    return [
      ...hiddenTwice(written, place('hash')),
      ...withoutKey(written, setting('key'), place('hash')),
      ...(scan === 'plain' ? [] : withoutSearch(written, place)),
    ]
  })
}

type Written = { drop: readonly string[]; hash: readonly string[] }

function hiddenTwice({ drop, hash }: Written, place: readonly PropertyKey[]): Mistake[] {
  const dropped = new Set(drop.map(fieldOf))
  return hash.flatMap((name, at): Mistake[] =>
    dropped.has(fieldOf(name))
      ? [
          {
            path: [...place, at],
            part: 'value',
            message:
              "is dropped too: keep it in one of the two lists (an organization's own list replaces the shared one)",
          },
        ]
      : [],
  )
}

function withoutKey({ hash }: Written, key: unknown, place: readonly PropertyKey[]): Mistake[] {
  if (hash.length === 0 || key !== undefined) return []
  const message =
    'needs a key: make one with `openssl rand -hex 32`, and add key: { env: NAME } or key: { file: path } beside it'
  return [{ path: place, part: 'value', message }]
}

/** The fields by which a customer is searched for before a removal. */
const SEARCHED = ['email', 'username', 'name'] as const

function withoutSearch({ drop, hash }: Written, place: (name: string) => readonly PropertyKey[]): Mistake[] {
  const policy = { ...NOTHING_HIDDEN, drop: drop.map(fieldOf), hash: hash.map(fieldOf) }
  if (!SEARCHED.every((field) => hides(policy, field))) return []
  const message =
    'hides email, username and name: a customer is searched for by one of them before it is removed. ' +
    'Show one of them, or set scan: plain, which removes no customer'
  return [{ path: place(SEARCHED.some((field) => drop.includes(field)) ? 'drop' : 'hash'), part: 'value', message }]
}

function namesIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : []
}
