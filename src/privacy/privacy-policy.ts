import { createHmac } from 'node:crypto'
import { TEXT_FIELDS } from '../model/customer.ts'

/** Fields of customers that are not stored as sent: as documented, `extra.` and the `plainName` of one, or `extra`, which is all those not named. */
export type HiddenFields = {
  readonly drop: readonly string[]
  readonly hash: readonly string[]
  /** Fields that are stored in more than one way, because a change of the policy was itself interrupted by another one. */
  readonly mixed: readonly string[]
  /** Identifies the key of the hashes, which is not stored; null without a key. */
  readonly keyCheck: string | null
}

/** A policy with its key. */
export type PrivacyPolicy = ReturnType<typeof privacyPolicy>

/** The policy in a configuration. Fields stand there as documented, as `extra.NAME`, or as NAME where none is documented. */
export function privacyPolicy({ drop = [], hash = [], key }: Configured) {
  const sign = (data: Uint8Array | string) => createHmac('sha256', key ?? '').update(data)
  // No text in UTF-8 has the byte 0xff, so no value of a customer has the hash of one of these.
  const keyed = (purpose: 'check' | 'fingerprint', value: Uint8Array | string) =>
    key === undefined
      ? undefined
      : sign(Buffer.concat([Buffer.of(0xff), Buffer.from(`${purpose}\0`), Buffer.from(value)])).digest()
  return {
    drop: [...new Set(drop.map(fieldOf))].toSorted(),
    hash: [...new Set(hash.map(fieldOf))].toSorted(),
    mixed: [],
    keyCheck: keyed('check', '')?.toString('hex') ?? null,
    /** The stored form of a text in a hashed field. */
    hashOf: (text: string) => `hmac:${sign(text).digest('hex')}`,
    /** Mixes the configured key, if there is one, into a key that is stored. */
    keyed,
  }
}

export const NOTHING_HIDDEN = privacyPolicy({})

type Configured = { drop?: readonly string[]; hash?: readonly string[]; key?: string | undefined }

/** A field as it stands in a policy. */
export function fieldOf(name: string): string {
  if (name === 'extra' || DOCUMENTED.has(name)) return name
  return EXTRA + plainName(name.startsWith(EXTRA) ? name.slice(EXTRA.length) : name)
}

/** `Phone-Number`, `phone_number` and `phoneNumber` are one field: a service that spells it anew must not show it again. */
export function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[-_\s]/g, '')
}

const EXTRA = 'extra.'
const DOCUMENTED: ReadonlySet<string> = new Set(TEXT_FIELDS)

/** A policy without its key, as JSON to be stored; the same text for the same policy. */
export function policyJson({ drop, hash, mixed, keyCheck }: HiddenFields): string {
  return JSON.stringify({ drop, hash, mixed, keyCheck })
}

/** Whether fields are hashed under both policies, but with another key. */
export function isOtherKey(one: HiddenFields, other: HiddenFields): boolean {
  return one.keyCheck !== other.keyCheck && one.hash.some((field) => treatmentOf(other, field) === hashedWith(other))
}

/** Whether a policy hides a field, documented or of `extra`, from whatever reads the mirror. */
export function hides(policy: HiddenFields, field: string): boolean {
  return treatmentOf(policy, field) !== 'plain'
}

/** Whether values that follow a policy show nothing of what a configuration hides; a hash is not shown, whatever its key. */
export function isHiddenBy(stored: HiddenFields, { drop, hash }: Pick<HiddenFields, 'drop' | 'hash'>): boolean {
  const hidden = (field: string) => treatmentOf(stored, fieldOf(field))
  return (
    drop.every((field) => hidden(field) === 'drop') &&
    hash.every((field) => !['plain', 'mixed'].includes(hidden(field)))
  )
}

/** The policy of values of which some follow one policy, and some another. */
export function mixedPolicy(one: HiddenFields, other: HiddenFields): HiddenFields {
  const fields = Map.groupBy(namedIn(one, other), (field) => {
    const treatment = treatmentOf(one, field)
    return treatment === treatmentOf(other, field) ? treatment : 'mixed'
  })
  const those = (treatment: string) => fields.get(treatment) ?? []
  return { drop: those('drop'), hash: those(hashedWith(one)), mixed: those('mixed'), keyCheck: one.keyCheck }
}

/** What happens to a stored value; `blank`: it cannot be told what the new policy would have stored. */
export type Action = 'keep' | 'drop' | 'hash' | 'blank'

/** What happens to a value of a field that follows one policy and is to follow another. */
export function actionBetween(from: HiddenFields, to: HiddenFields, field: string): Action {
  const [before, after] = [treatmentOf(from, field), treatmentOf(to, field)]
  if (before === after) return 'keep'
  if (after === 'drop') return 'drop'
  return before === 'plain' ? 'hash' : 'blank'
}

/** Every field that one of two policies names. */
export function namedIn(one: HiddenFields, other: HiddenFields): string[] {
  const fields = [one, other].flatMap(({ drop, hash, mixed }) => [...drop, ...hash, ...mixed])
  return [...new Set(fields)].toSorted()
}

/** How a policy treats a field: `plain`, `drop`, `mixed`, or hashed with a certain key. */
function treatmentOf(policy: HiddenFields, field: string): string {
  const { drop, hash, mixed } = policy
  for (const name of namesFor(field)) {
    if (drop.includes(name)) return 'drop'
    if (hash.includes(name)) return hashedWith(policy)
    if (mixed.includes(name)) return 'mixed'
  }
  return 'plain'
}

function hashedWith({ keyCheck }: HiddenFields): string {
  return `hashed with ${keyCheck}`
}

/** The names under which a policy may treat a field, the narrowest first. */
function namesFor(field: string): string[] {
  if (!field.startsWith(EXTRA)) return [field]
  const documented = SPELT_PLAINLY.get(field.slice(EXTRA.length))
  return documented === undefined ? [field, 'extra'] : [field, documented, 'extra']
}

/** A record with `companyName` has the documented company_name in `extra`. */
const SPELT_PLAINLY: ReadonlyMap<string, string> = new Map(TEXT_FIELDS.map((field) => [plainName(field), field]))
