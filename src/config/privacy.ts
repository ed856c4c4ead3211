import { z } from 'zod'
import { TEXT_FIELDS } from '../model/customer.ts'
import { fieldOf, hides, NOTHING_HIDDEN, plainName } from '../privacy/hidden-values.ts'
import { refusing, secretReference, secretReferenceForm, setting } from './values.ts'
import { valueAt, type Mistake } from './document.ts'
import { didYouMean } from './suggestion.ts'

/** A customer is known by its id; its date is evidence that a scan is complete, and that a list is not an older one. */
const NEVER_HIDDEN = ['id', 'created_at', 'created_at_utc'].map(plainName)

const TOO_MANY = 'must name at most 200 fields'

const fieldName = z
  .string()
  .regex(/^(?=.*\S).{1,200}$/s, 'must be the name of a field, at most 200 characters')
  .check(refusing(nameProblem))

const hashedName = fieldName.refine(
  (name) => name !== 'extra',
  'extra can be dropped as a whole; to hash fields in it, name each of them',
)

export const privacy = z.strictObject({
  drop: setting(
    z.array(fieldName).max(200, TOO_MANY),
    'Fields that are not stored at all. Set it for what no reader needs.',
    { examples: [['address']] },
  ),
  hash: setting(
    z.array(hashedName).max(200, TOO_MANY),
    'Fields of which a keyed hash is stored: equal values stay equal. Set it for what is joined and counted, and never read.',
    { examples: [['phone']] },
  ),
  key: setting(secretReferenceForm, 'Where the key of the hashes is kept: at least 32 characters. Set it with hash.'),
})

type Written = z.output<typeof privacy>

/** An organization's own settings over the shared ones, key by key; undefined where nothing is hidden. */
export function privacySettings(own: Written | undefined, shared: Written | undefined, folder: string) {
  const { drop = [], hash = [], key } = { ...shared, ...own }
  if (drop.length === 0 && hash.length === 0) return undefined
  return { drop, hash, key: key && secretReference(key, folder) }
}

/** Why a field cannot be hidden by this name; undefined if it can. No message repeats the name. */
function nameProblem(name: string): string | undefined {
  const isOfExtra = name.startsWith('extra.')
  if (isOfExtra && plainName(name.slice('extra.'.length)) === '') return 'must name a field after "extra."'
  if (!isOfExtra && NEVER_HIDDEN.includes(plainName(name)))
    return 'must stay: a customer is known by its id, and its date is evidence that a scan is complete'
  if (isOfExtra || fieldOf(name) === name) return undefined
  if (name.includes('.'))
    return 'must be a whole field: name the one that holds it; for a field with a dot in its name, write extra. before it'
  const hint = didYouMean(name, [...TEXT_FIELDS, 'extra'])
  if (hint === '') return undefined
  return `is not a documented field${hint}; for a field of that name in extra, write extra. before it`
}

const SEARCHED = ['email', 'username', 'name'] as const

/** What is wrong with the policy of an organization in data of any shape: its own lists replace the shared ones. */
export function privacyMistakes(data: unknown, index: number): Mistake[] {
  const pathOf = (name: string) => {
    const own = ['organizations', index, 'privacy', name]
    return valueAt(data, ...own) === undefined ? ['defaults', 'privacy', name] : own
  }
  const [dropped = [], hashed = []] = ['drop', 'hash'].map((name) => {
    const list = valueAt(data, ...pathOf(name))
    return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : []
  })
  const mistake = (name: string, message: string, ...at: number[]) => ({ path: [...pathOf(name), ...at], message })
  const policy = { ...NOTHING_HIDDEN, drop: dropped.map(fieldOf), hash: hashed.map(fieldOf) }
  const twice = policy.hash.flatMap((name, at) => (policy.drop.includes(name) ? [mistake('hash', TWICE, at)] : []))
  const scan = valueAt(data, 'organizations', index, 'scan') ?? valueAt(data, 'defaults', 'scan')
  const isUnsearchable = scan !== 'plain' && SEARCHED.every((field) => hides(policy, field))
  return [
    ...twice,
    ...(hashed.length > 0 && valueAt(data, ...pathOf('key')) === undefined ? [mistake('hash', WITHOUT_KEY)] : []),
    ...(isUnsearchable ? [mistake(dropped.length > 0 ? 'drop' : 'hash', UNSEARCHABLE)] : []),
  ]
}

const TWICE = "is dropped too: keep it in one of the two lists (an organization's own list replaces the shared one)"
const WITHOUT_KEY =
  'needs a key: make one with `openssl rand -hex 32`, and add key: { env: NAME } or key: { file: path } beside it'
const UNSEARCHABLE =
  'hides email, username and name: a customer is searched for by one of them before it is removed. ' +
  'Show one of them, or set scan: plain, which removes no customer'
