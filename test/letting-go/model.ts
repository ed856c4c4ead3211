import { privacyPolicy, type PrivacyPolicy } from '../../src/privacy/privacy-policy.ts'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import { aCustomer, type SentRecord, START_MS } from '../support/builders.ts'
import type { Dice } from '../support/dice.ts'

export const DAY_MS = 86_400_000
const DOCUMENTED = ['name', 'username', 'email', 'phone', 'address'] as const
/** Names of other fields, some of which spell another in another way, or belong to every object. */
const OTHERS = ['vip', 'VIP', 'Phone', 'fax no', '__proto__', 'constructor', 'extra', '7'] as const
const KEYS = ['a made-up key with more than 32 characters', 'another made-up key with more than 32 characters']

/** Which fields an organization hides. */
export type Hiding = { drop: readonly string[]; hash: readonly string[]; key: number }
export const SHOWS_ALL: Hiding = { drop: [], hash: [], key: 0 }

export type Values = Record<string, unknown>

/** What a mirror must hold of an organization, known from the service and the commands alone. */
export type Held = {
  /** The numbers of active customers. */
  active: Set<number>
  /** In how many proven scans in a row an active customer was absent. */
  absent: Map<number, number>
  forgotten: Set<number>
  /** The policy that every stored value follows; undefined while that is not known. */
  hides: Hiding | undefined
}

/** The service of an organization. It outlives its mirror, and keeps its identity when the mirror renames it. */
export type Service = {
  /** Its customers have numbers of their own. */
  readonly first: number
  listed: Map<number, Values>
  hides: Hiding
  /** Every text that was ever sent, by customer and by field. */
  readonly sent: { n: number; field: string; text: string }[]
}

/** The model of a mirror: its organizations by name. */
export type Model = Map<string, { service: Service; held: Held }>

export const MOST = 24

export function aService(index: number): Service {
  return { first: index * 1000 + 1, listed: new Map(), hides: SHOWS_ALL, sent: [] }
}

export function nothingHeld(): Held {
  return { active: new Set(), absent: new Map(), forgotten: new Set(), hides: SHOWS_ALL }
}

/** A copy of what is held; services are shared, because no backup brings them back. */
export function copyOf(model: Model): Model {
  return new Map([...model].map(([name, { service, held }]) => [name, { service, held: structuredClone(held) }]))
}

let version = 0

/** Some customers come, change and leave. The newest one never leaves: a list without its newest may be an older one. */
export function passTime(service: Service, dice: Dice): void {
  for (let n = service.first; n < service.first + MOST; n += 1) {
    const isFirst = n === service.first
    const isListed = service.listed.has(n)
    if (!isListed && (isFirst || dice.chance(0.3))) service.listed.set(n, newValues(service, n, dice))
    else if (isListed && !isFirst && dice.chance(0.15)) service.listed.delete(n)
    else if (isListed && dice.chance(0.2)) service.listed.set(n, newValues(service, n, dice))
  }
}

/** Tokens that stand nowhere else: one in each documented field, and in some others, in a form that is drawn. */
function newValues(service: Service, n: number, dice: Dice): Values {
  version += 1
  const fields = [...DOCUMENTED, ...OTHERS.filter(() => dice.chance(0.1))]
  const values = fields.map((field, at): [string, unknown] => {
    const text = `tok${n}q${version}q${at}end`
    service.sent.push({ n, field, text })
    const forms = [text, `\ud800 ${text}\0é`, [[text], null], { [text]: text }, text.repeat(9000)]
    return [field, at < DOCUMENTED.length ? text : forms[dice.below(forms.length)]]
  })
  return Object.fromEntries(values)
}

/**
 * The newest first. Sometimes one record cannot be kept, with or without a readable id; `odd` is the customer whose record it is.
 */
export function listOf(service: Service, dice: Dice): { list: SentRecord[]; odd: number | undefined } {
  const list = [...service.listed].toSorted(([one], [other]) => one - other).map(([n, values]) => record(n, values))
  if (dice.chance(0.1)) {
    const n = service.first + 500
    return { list: [...list, { ...record(n, newValues(service, n, dice)), id: 'no UUID' }], odd: undefined }
  }
  const [place, odd] = [1 + dice.below(list.length), dice.chance(0.3)]
  const n = [...service.listed.keys()].toSorted((one, other) => one - other)[place]
  if (!odd || n === undefined) return { list, odd: undefined }
  const values = newValues(service, n, dice)
  list[place] = { ...record(n, values), email: [values['email']] }
  return { list, odd: n }
}

function record(n: number, values: Values): SentRecord {
  return aCustomer(n, { ...values, created_at: new Date(START_MS - n * DAY_MS).toISOString() })
}

/** What a mirror stores of these values in columns of their own. */
export function stored(values: Values, hides: Hiding): Values {
  const policy = policyOf(hides)
  return Object.fromEntries(
    DOCUMENTED.map((field) => {
      if (hides.drop.includes(field)) return [field, null]
      return [field, hides.hash.includes(field) ? policy.hashOf(String(values[field])) : values[field]]
    }),
  )
}

/** Told apart from the program: the names that mean a field, and those that the policy lists. */
export function isHidden({ drop, hash }: Hiding, name: string): boolean {
  const listed = [...drop, ...hash]
  if (DOCUMENTED.some((field) => field === name)) return listed.includes(name)
  return drop.includes('extra') || listed.some((other) => other !== 'extra' && plain(other) === plain(name))
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, '')
}

export function policyOf({ drop, hash, key }: Hiding): PrivacyPolicy {
  return privacyPolicy({ drop, hash, key: hash.length === 0 ? undefined : KEYS[key] })
}

/** One of email, username and name stays shown. */
export function someHiding(dice: Dice): Hiding {
  const shown = DOCUMENTED[dice.below(3)]
  const drop: string[] = []
  const hash: string[] = []
  for (const field of [...DOCUMENTED, 'vip', 'fax_no', '__proto__', 'constructor', 'extra']) {
    const way = dice.below(4)
    if (field === shown) continue
    if (way === 0) drop.push(field)
    if (way === 1 && field !== 'extra') hash.push(field)
  }
  return { drop, hash, key: dice.below(2) }
}

/** A mirror, its model, and its backups. */
export class World {
  model: Model = new Map()
  /** In days since the start. */
  day = 0
  backups: { file: string; model: Model }[] = []
  /** Who is forgotten of services that a restored backup does not have. */
  waiting: { name: string; service: Service; gone: ReadonlySet<number> }[] = []
  services = 0
  steps: string[] = []
  file: string
  dice: Dice
  readonly after: number

  constructor(file: string, dice: Dice) {
    this.file = file
    this.dice = dice
    this.after = 1 + dice.below(2)
  }

  get clocks() {
    const nowMs = START_MS + this.day * DAY_MS
    return { nowMs, monotonicMs: nowMs }
  }

  pick<T>(choices: readonly T[]): T | undefined {
    return choices[this.dice.below(choices.length)]
  }

  async withMirror<Result>(work: (mirror: Mirror) => Promise<Result>): Promise<Result> {
    const mirror = await openMirror(this.file)
    try {
      return await work(mirror)
    } finally {
      await mirror.close()
    }
  }
}

export function entryOf(it: World, name: string) {
  const entry = it.model.get(name)
  if (entry === undefined) throw new Error(`${name} is not in the model`)
  return entry
}
