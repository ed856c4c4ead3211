import { DEFAULT_HEADERS } from '../../source/signing/signing.ts'
import { isLoopback } from '../../address/http-address.ts'
import { parseBaseUrl, NOT_IN_THIS_FILE } from '../values.ts'
import type { Mistake } from './mistakes.ts'
import { sameHeaders } from '../settings/signing.ts'
import { isMapping, valueAt } from './value-at.ts'
import { fieldOf, hides, NOTHING_HIDDEN } from '../../privacy/privacy-policy.ts'

/**
 * Finds values that are valid alone but contradict each other. Works on data of any shape, so that these mistakes are reported
 * together with those of the schema.
 */
export function crossCheck(data: unknown): Mistake[] {
  const organizations = listAt(data, 'organizations')
  return [
    ...twoForms(data, ['defaults', 'signing']),
    ...quickAtNight(data, ['schedule']),
    ...organizations.flatMap((organization, index) => [
      ...twoForms(data, ['organizations', index, 'signing']),
      ...exposedSecrets(organization, index),
      ...unfinishedSchedule(data, index),
      ...quickAtNight(data, ['organizations', index, 'schedule']),
      ...clashingHeaders(data, index),
    ]),
    ...repeatedIds(organizations),
    ...mirroredTwice(organizations),
    ...disagreeingLimits(data, organizations),
    ...privacyMistakes(data, organizations),
  ]
}

/** A preset and a template exclude each other. */
function twoForms(data: unknown, path: readonly PropertyKey[]): Mistake[] {
  if (valueAt(data, ...path, 'preset') === undefined || valueAt(data, ...path, 'template') === undefined) return []
  return [key([...path, 'template'], 'excludes preset: keep one of the two')]
}

/** A secret may be written into the file only for a service on this machine. */
function exposedSecrets(organization: unknown, index: number): Mistake[] {
  const address = valueAt(organization, 'baseUrl')
  if (typeof address !== 'string' || !URL.canParse(address) || isLoopback(new URL(address))) return []
  return ['apiKey', 'secret']
    .filter((name) => {
      const written = valueAt(organization, name)
      return typeof written === 'string' && written !== ''
    })
    .map((name) => value(['organizations', index, name], NOT_IN_THIS_FILE))
}

function unfinishedSchedule(data: unknown, index: number): Mistake[] {
  const path = ['organizations', index, 'schedule']
  const own = valueAt(data, ...path)
  if (!isMapping(own)) return []
  return ['cron', 'timezone']
    .filter((name) => own[name] === undefined && valueAt(data, 'schedule', name) === undefined)
    .map((name) => value([...path, name], 'is missing, and there is no schedule at the top level to take it from'))
}

/** A quick run at the moment of a full one has nothing to look for. Reported where one of the two lines is written. */
function quickAtNight(data: unknown, path: readonly PropertyKey[]): Mistake[] {
  const [own, shared] = [valueAt(data, ...path), valueAt(data, 'schedule')]
  const written = ['quick', 'cron'].find((name) => valueAt(own, name) !== undefined)
  const [quick, cron] = ['quick', 'cron'].map((name) => valueAt(own, name) ?? valueAt(shared, name))
  if (written === undefined || typeof quick !== 'string' || typeof cron !== 'string') return []
  if (fieldsOf(quick) !== fieldsOf(cron)) return []
  const [other, advice] =
    written === 'quick'
      ? ['cron', 'name moments between these nights, such as "*/15 * * * *"']
      : ['quick of the schedule at the top level', 'change one of the two, or add quick: never']
  return [value([...path, written], `is the same as ${other}, and then the whole list is read anyway: ${advice}`)]
}

function fieldsOf(cron: string): string {
  return cron.trim().split(/\s+/).join(' ')
}

function clashingHeaders(data: unknown, index: number): Mistake[] {
  const path = ['organizations', index, 'signing', 'headers']
  const own = texts(valueAt(data, ...path))
  const names = { ...DEFAULT_HEADERS, ...texts(valueAt(data, 'defaults', 'signing', 'headers')), ...own }
  return sameHeaders(names).map(([role, other]) => {
    const place = role in own ? role : other in own ? other : undefined
    const message = `has the same name as the header of the ${place === other ? role : other}: every header needs its own`
    return value(place === undefined ? ['defaults', 'signing', 'headers', role] : [...path, place], message)
  })
}

function repeatedIds(organizations: readonly unknown[]): Mistake[] {
  const ids = organizations.map((organization) => valueAt(organization, 'id'))
  return ids.flatMap((id, index) => {
    const first = ids.indexOf(id)
    if (typeof id !== 'string' || first === index) return []
    return [value(['organizations', index, 'id'], `is the id of organizations.${first} too: every id must differ`)]
  })
}

/** The same address with the same key would mirror the same customers twice. */
function mirroredTwice(organizations: readonly unknown[]): Mistake[] {
  const first = new Map<string, number>()
  return organizations.flatMap((organization, index) => {
    const address = valueAt(organization, 'baseUrl')
    const parsed = typeof address === 'string' ? parseBaseUrl(address) : undefined
    const apiKey = valueAt(organization, 'apiKey')
    if (!(parsed instanceof URL) || apiKey === undefined) return []
    const identity = JSON.stringify([parsed.href, apiKey])
    const twin = first.get(identity)
    if (twin === undefined) {
      first.set(identity, index)
      return []
    }
    const message = `has the address and the API key of organizations.${twin}: the same customers would be mirrored twice`
    return [value(['organizations', index, 'baseUrl'], message)]
  })
}

/** Organizations that share a rate limit must give it the same value. */
function disagreeingLimits(data: unknown, organizations: readonly unknown[]): Mistake[] {
  const setting = (organization: unknown, name: string): unknown =>
    valueAt(organization, 'rateLimit', name) ?? valueAt(data, 'defaults', 'rateLimit', name)
  const first = new Map<string, { index: number; limit: unknown }>()
  return organizations.flatMap((organization, index) => {
    const shared = setting(organization, 'shared')
    const limit = setting(organization, 'requestsPerMinute')
    if (typeof shared !== 'string') return []
    const other = first.get(shared) ?? { index, limit }
    first.set(shared, other)
    if (other.limit === limit) return []
    const message = `shares a limit with organizations.${other.index} but differs in requestsPerMinute: give both the same`
    return [value(['organizations', index, 'rateLimit'], message)]
  })
}

function listAt(data: unknown, name: string): readonly unknown[] {
  const list = valueAt(data, name)
  return Array.isArray(list) ? list : []
}

function texts(data: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(isMapping(data) ? data : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  )
}

function key(path: readonly PropertyKey[], message: string): Mistake {
  return { path, part: 'key', message }
}

function value(path: readonly PropertyKey[], message: string): Mistake {
  return { path, part: 'value', message }
}

/** Finds policies that hide a field in two ways, need a key, or hide everything a search before a removal could use. */
function privacyMistakes(data: unknown, organizations: readonly unknown[]): Mistake[] {
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

function withoutKey({ hash }: Written, named: unknown, place: readonly PropertyKey[]): Mistake[] {
  if (hash.length === 0 || named !== undefined) return []
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
