import { createHmac } from 'node:crypto'
import { TEXT_FIELDS, type Customer, type TextField } from '../model/customer.ts'
import { CUT_MARK } from '../model/page.ts'
import { isMapping, parsedJson } from '../text/parsed-json.ts'
import { storableText } from '../text/storable-text.ts'

/** Fields of customers that are not stored as sent: as documented, `extra.` and the `plainName` of one, or `extra`, which is all those not named. */
export type HiddenFields = {
  readonly drop: readonly string[]
  readonly hash: readonly string[]
  /** Fields that are stored in more than one way, because a change of the policy was itself interrupted by another one. */
  readonly mixed: readonly string[]
  /** Identifies the key of the hashes, which is not stored; null without a key. */
  readonly keyCheck: string | null
}

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
    .replaceAll(/[\p{P}\s]/gu, '')
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
type Action = 'keep' | 'drop' | 'hash' | 'blank'

/** What happens to a value of a field that follows one policy and is to follow another. */
function actionBetween(from: HiddenFields, to: HiddenFields, field: string): Action {
  const [before, after] = [treatmentOf(from, field), treatmentOf(to, field)]
  if (before === after) return 'keep'
  if (after === 'drop') return 'drop'
  return before === 'plain' ? 'hash' : 'blank'
}

function namedIn(one: HiddenFields, other: HiddenFields): string[] {
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

export type HidableColumns = Pick<Customer, TextField | 'extra'>

/** Brings values from one policy to another, in every form in which the mirror stores them. Every function is pure. */
export type HiddenValues = NonNullable<ReturnType<typeof hiddenValues>>

/** Stands in place of a rejected record that has no fields. */
const HIDDEN_RECORD = { customer_mirror_hidden: 'The record is not an object, so its value is not stored.' }

/** Undefined where nothing differs. */
export function hiddenValues(from: HiddenFields, to: PrivacyPolicy) {
  const named = Map.groupBy(namedIn(from, to), (field) => actionBetween(from, to, field))
  if ([...named.keys()].every((action) => action === 'keep')) return undefined
  const hide: Hide = {
    actionOf: remembered((name) => {
      if (name === 'id') return 'keep'
      return actionBetween(from, to, TEXT_FIELDS.some((field) => field === name) ? name : fieldOf(`extra.${name}`))
    }),
    // A text, or canonical JSON (RFC 8785: keys sorted, no spaces), as every store can hold it.
    hashOf: (value) => to.hashOf(typeof value === 'string' ? storableText(value) : canonicalJson(value)),
  }
  const columns = TEXT_FIELDS.filter((field) => hide.actionOf(field) !== 'keep')
  return {
    /** A customer; the same object where nothing differs. */
    customer<Columns extends HidableColumns>(customer: Columns): Columns {
      const filled = columns.filter((field) => customer[field] !== null)
      const extra = hiddenExtra(customer.extra, hide)
      if (filled.length === 0 && extra === customer.extra) return customer
      const hidden = (field: TextField) => (hide.actionOf(field) === 'hash' ? hide.hashOf(customer[field]) : null)
      return { ...customer, ...Object.fromEntries(filled.map((field) => [field, hidden(field)])), extra }
    },
    /** A rejected record, before it is written. Only an object has fields: anything else becomes HIDDEN_RECORD. */
    record: (record: unknown) => hiddenRecord(record, hide),
    /** JSON of changed fields → [before, after]; null if none is left. */
    changedFields: (json: string) => hiddenChange(parsedJson(json), hide),
    /** The stored payload of a reject. A payload that was cut keeps no hidden field, not even a hashed one. */
    payload(json: string): string {
      const record = parsedJson(json)
      // Which values stand in the beginning of a record is not known.
      const isCut = isMapping(record) && Object.hasOwn(record, CUT_MARK)
      return JSON.stringify(isCut ? { [CUT_MARK]: record[CUT_MARK] } : hiddenRecord(record, hide))
    },
    /** The documented fields that differ. */
    columns,
    /** The fields whose values cannot be computed from what is stored: the next reading brings them. */
    unfilled: named.get('blank') ?? [],
  }
}

type Hide = {
  /** The action for a field of a record or of `extra`, as the service spells it. */
  actionOf(name: string): Action
  hashOf(value: unknown): string
}

/** A service has few names of fields, but it could send others in every record, and long ones. */
function remembered(actionOf: (name: string) => Action): (name: string) => Action {
  const known = new Map<string, Action>()
  return (name) => {
    const action = known.get(name) ?? actionOf(name)
    if (name.length <= LONGEST_NAME && known.size < MOST_NAMES) known.set(name, action)
    return action
  }
}

const MOST_NAMES = 1000
const LONGEST_NAME = 200

/** The JSON of the fields of `extra`; null if none is left, or it cannot be read. */
function hiddenExtra(json: string | null, hide: Hide): string | null {
  const fields = json === null ? undefined : parsedJson(json)
  return isMapping(fields) ? jsonOf(hiddenFields(fields, hide)) : null
}

/** JSON of the fields that are left; null where none is. */
function jsonOf(fields: readonly [string, unknown][]): string | null {
  return fields.length === 0 ? null : JSON.stringify(Object.fromEntries(fields))
}

function hiddenFields(record: object, hide: Hide): [string, unknown][] {
  return Object.entries(record).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    const action = hide.actionOf(name)
    if (action === 'keep') return [[name, hiddenWithin(value, hide)]]
    return action === 'hash' ? [[name, value === null ? null : hide.hashOf(value)]] : []
  })
}

/** A service that wraps its fields in another one must not show them again. */
function hiddenWithin(value: unknown, hide: Hide): unknown {
  if (Array.isArray(value)) return value.map((each) => hiddenWithin(each, hide))
  return isMapping(value) ? Object.fromEntries(hiddenFields(value, hide)) : value
}

function hiddenRecord(record: unknown, hide: Hide): object {
  return isMapping(record) ? Object.fromEntries(hiddenFields(record, hide)) : HIDDEN_RECORD
}

/** What is left of `{ field: [before, after] }`: no entry for a dropped field, and two nulls where the values are not known. */
function hiddenChange(change: unknown, hide: Hide): string | null {
  if (!isMapping(change)) return null
  const kept = Object.entries(change).flatMap(([name, pair]): [string, unknown][] => {
    const [before, after]: unknown[] = Array.isArray(pair) ? pair : []
    if (name === 'extra') {
      const both = [before, after].map((json) => (typeof json === 'string' ? hiddenExtra(json, hide) : null))
      return both[0] === both[1] ? [] : [[name, both]]
    }
    const action = hide.actionOf(name)
    if (action === 'keep') return [[name, pair]]
    if (action === 'drop') return []
    const hashed = (value: unknown) => (action === 'hash' && typeof value === 'string' ? hide.hashOf(value) : null)
    return [[name, [before, after].map(hashed)]]
  })
  return jsonOf(kept)
}

/** Whether all that differs are values that are lacking in `before` because they were hidden otherwise: no change of the customer. */
export function isFilled(
  field: TextField | 'extra',
  before: HidableColumns,
  after: HidableColumns,
  unfilled: readonly string[],
): boolean {
  if (field !== 'extra') return before[field] === null && unfilled.includes(field)
  // What was edited by hand may be no JSON: that is a change.
  const known = parsedJson(before.extra ?? '{}')
  if (!isMapping(known)) return false
  const lacking = { ...NOTHING_HIDDEN, drop: unfilled }
  return jsonOf(Object.entries(withoutNew(JSON.parse(after.extra ?? '{}'), known, lacking))) === before.extra
}

/** The fields, at every depth, without those that are new and hidden. */
function withoutNew(fields: object, known: unknown, hidden: HiddenFields): object {
  const before = Object(known)
  const within = (value: unknown, held: unknown) => (value instanceof Object ? withoutNew(value, held, hidden) : value)
  if (Array.isArray(fields)) return fields.map((value, at) => within(value, before[at]))
  const kept = Object.entries(fields).filter(
    ([name]) => Object.hasOwn(before, name) || !hides(hidden, fieldOf(`extra.${name}`)),
  )
  return Object.fromEntries(kept.map(([name, value]) => [name, within(value, before[name])]))
}

function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(storableText(value))
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isMapping(value)) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, inner]) => [storableText(name), inner] as const)
  const sorted = fields.toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${sorted.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join(',')}}`
}
