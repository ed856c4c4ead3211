import { TEXT_FIELDS, type Customer, type TextField } from '../model/customer.ts'
import { isMapping, parsedJson } from '../text/parsed-json.ts'
import {
  actionBetween,
  fieldOf,
  hides,
  namedIn,
  NOTHING_HIDDEN,
  type Action,
  type HiddenFields,
  type PrivacyPolicy,
} from './privacy-policy.ts'
import { CUT_MARK } from '../model/page.ts'
import { storableText } from '../text/storable-text.ts'

/** The columns of a customer that a policy may hide. */
export type HidableColumns = Record<TextField, string | null> & { extra: string | null }

/** Brings values from one policy to another, in every form in which the mirror stores them. Every function is pure. */
export type HiddenValues = NonNullable<ReturnType<typeof hiddenValues>>

/** Stands in place of a rejected record that has no fields. */
const HIDDEN_RECORD = { customer_mirror_hidden: 'The record is not an object, so its value is not stored.' }

/** Undefined where nothing differs. */
export function hiddenValues(from: HiddenFields, to: PrivacyPolicy) {
  const named = namedIn(from, to)
  const actions = new Map(named.map((field) => [field, actionBetween(from, to, field)]))
  if ([...actions.values()].every((action) => action === 'keep')) return undefined
  const hide: Hide = {
    column: (field) => actions.get(field) ?? 'keep',
    other: remembered((name) => actionBetween(from, to, fieldOf(`extra.${name}`))),
    hashOf: (value) => to.hashOf(textOf(value)),
  }
  const columns = TEXT_FIELDS.filter((field) => hide.column(field) !== 'keep')
  return {
    /** A customer; the same object where nothing differs. Throws RangeError for a value that is nested too deeply, as an older version kept. */
    customer: <Columns extends HidableColumns>(customer: Columns) => hiddenCustomer(customer, columns, hide),
    /** A rejected record, before it is written. Only an object has fields: anything else becomes HIDDEN_RECORD. */
    record: (record: unknown) => (isMapping(record) ? hiddenRecord(record, hide) : HIDDEN_RECORD),
    /** JSON of changed fields → [before, after]; null if none is left. */
    changedFields: (json: string) => shallow(() => hiddenChange(parsedJson(json), hide), null),
    /** The stored payload of a reject. A payload that was cut keeps no hidden field, not even a hashed one. */
    payload: (json: string) => shallow(() => hiddenPayload(parsedJson(json), hide), JSON.stringify(HIDDEN_RECORD)),
    /** The documented fields that differ. */
    columns,
    /** The fields whose values cannot be computed from what is stored: the next reading brings them. */
    unfilled: named.filter((field) => actions.get(field) === 'blank'),
  }
}

type Hide = {
  column(field: TextField): Action
  /** The action for a field of `extra`, as the service spells it. */
  other(name: string): Action
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

function hiddenCustomer<Columns extends HidableColumns>(
  customer: Columns,
  columns: readonly TextField[],
  hide: Hide,
): Columns {
  const hidden = { ...customer }
  let isSame = true
  for (const field of columns) {
    const value = customer[field]
    if (value === null) continue
    Object.assign(hidden, { [field]: hide.column(field) === 'hash' ? hide.hashOf(value) : null })
    isSame = false
  }
  const extra = hiddenExtra(customer.extra, hide)
  return isSame && extra === customer.extra ? customer : Object.assign(hidden, { extra })
}

/** The JSON of the fields of `extra`; null if none is left, or it cannot be read. */
function hiddenExtra(json: string | null, hide: Hide): string | null {
  if (json === null) return null
  const fields = parsedJson(json)
  if (!isMapping(fields)) return null
  const kept = Object.entries(fields).flatMap((field) => hiddenField(field, hide.other(field[0]), hide))
  return kept.length === 0 ? null : jsonOf(kept)
}

function hiddenField([name, value]: [string, unknown], action: Action, hide: Hide): [string, unknown][] {
  if (action === 'keep') return [[name, value]]
  if (action !== 'hash') return []
  return [[name, value === null ? null : hide.hashOf(value)]]
}

function hiddenRecord(record: object, hide: Hide): object {
  return Object.fromEntries(
    Object.entries(record).flatMap((field): [string, unknown][] => hiddenField(field, actionFor(field[0], hide), hide)),
  )
}

function actionFor(name: string, hide: Hide): Action {
  if (name === 'id') return 'keep'
  const field = TEXT_FIELDS.find((known) => known === name)
  return field === undefined ? hide.other(name) : hide.column(field)
}

function hiddenPayload(record: unknown, hide: Hide): string {
  if (!isMapping(record)) return JSON.stringify(HIDDEN_RECORD)
  if (!Object.hasOwn(record, CUT_MARK)) return JSON.stringify(hiddenRecord(record, hide))
  // Which values stand in the beginning of a record is not known.
  return jsonOf(Object.entries(record).filter(([name]) => name === CUT_MARK))
}

/** What is left of `{ field: [before, after] }`: no entry for a dropped field, and two nulls where the values are not known. */
function hiddenChange(change: unknown, hide: Hide): string | null {
  if (!isMapping(change)) return null
  const kept = Object.entries(change).flatMap(([name, pair]: [string, unknown]): [string, unknown][] => {
    const [before, after]: unknown[] = Array.isArray(pair) ? pair : []
    if (name === 'extra') {
      const both = [before, after].map((json) => (typeof json === 'string' ? hiddenExtra(json, hide) : null))
      return both[0] === both[1] ? [] : [[name, both]]
    }
    const action = actionFor(name, hide)
    if (action === 'keep') return [[name, pair]]
    if (action === 'drop') return []
    const isKnown = action === 'hash'
    return [[name, [before, after].map((value) => (isKnown && typeof value === 'string' ? hide.hashOf(value) : null))]]
  })
  return kept.length === 0 ? null : jsonOf(kept)
}

/** Whether all that differs are values that are lacking in `before` because they were hidden otherwise: no change of the customer. */
export function isFilled(
  field: TextField | 'extra',
  before: Pick<Customer, TextField | 'extra'>,
  after: Pick<Customer, TextField | 'extra'>,
  unfilled: readonly string[],
): boolean {
  if (field !== 'extra') return before[field] === null && unfilled.includes(field)
  // What was edited by hand may be no JSON: that is a change.
  const known = parsedJson(before.extra ?? '{}')
  if (!isMapping(known)) return false
  const lacking = { ...NOTHING_HIDDEN, drop: unfilled }
  const fields = Object.entries(Object(JSON.parse(after.extra ?? '{}'))).filter(
    ([name]) => Object.hasOwn(known, name) || !hides(lacking, fieldOf(`extra.${name}`)),
  )
  return (fields.length === 0 ? null : jsonOf(fields)) === before.extra
}

/** The text that is hashed: a text, or canonical JSON (RFC 8785: keys sorted, no spaces), as every store can hold it. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? storableText(value) : canonicalJson(value)
}

function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(storableText(value))
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isMapping(value)) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, inner]) => [storableText(name), inner] as const)
  const sorted = fields.toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${sorted.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join(',')}}`
}

/** JSON of an object whose keys keep this order, whatever they are. */
function jsonOf(fields: readonly [string, unknown][]): string {
  return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
}

/** The result of `read`, or `instead` for stored JSON that is nested too deeply. */
function shallow<Value>(read: () => Value, instead: Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) return instead
    throw error
  }
}
