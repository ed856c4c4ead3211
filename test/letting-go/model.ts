import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import type { Report } from '../../src/model/report.ts'
import type { Retention } from '../../src/model/run.ts'
import { privacyPolicy, type PrivacyPolicy } from '../../src/privacy/privacy-policy.ts'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import { makeNight } from '../support/alike-nights.ts'
import { backUp, restore } from '../support/backing-up.ts'
import { aCustomer, customerId, type SentRecord, START_MS, DAY_MS } from '../support/builders.ts'
import type { Dice } from '../support/dice.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { storedText } from '../support/mirror-reader.ts'

const DOCUMENTED = ['name', 'username', 'email', 'phone', 'address'] as const
/** Names of other fields, some of which spell another in another way, or belong to every object. */
const OTHERS = ['vip', 'VIP', 'Phone', 'fax no', '__proto__', 'constructor', 'extra', '7'] as const
const KEYS = ['a made-up key with more than 32 characters', 'another made-up key with more than 32 characters']

/** Which fields an organization hides. */
type Hiding = { drop: readonly string[]; hash: readonly string[]; key: number }
const SHOWS_ALL: Hiding = { drop: [], hash: [], key: 0 }

type Values = Record<string, unknown>

/** What a mirror must hold of an organization, known from the service and the commands alone. */
type Held = {
  /** The numbers of active customers. */
  active: Set<number>
  /** In how many proven scans in a row an active customer was absent. */
  absent: Map<number, number>
  forgotten: Set<number>
  /** The policy that every stored value follows; undefined while that is not known. */
  hides: Hiding | undefined
}

/** The service of an organization. It outlives its mirror, and keeps its identity when the mirror renames it. */
type Service = {
  /** Its customers have numbers of their own. */
  readonly first: number
  listed: Map<number, Values>
  hides: Hiding
  /** Every text that was ever sent, by customer and by field. */
  readonly sent: { n: number; field: string; text: string }[]
}

/** The model of a mirror: its organizations by name. */
export type Model = Map<string, { service: Service; held: Held }>

const MOST = 24

export function aService(index: number): Service {
  return { first: index * 1000 + 1, listed: new Map(), hides: SHOWS_ALL, sent: [] }
}

export function nothingHeld(): Held {
  return { active: new Set(), absent: new Map(), forgotten: new Set(), hides: SHOWS_ALL }
}

/** A copy of what is held; services are shared, because no backup brings them back. */
function copyOf(model: Model): Model {
  return new Map([...model].map(([name, { service, held }]) => [name, { service, held: structuredClone(held) }]))
}

let version = 0

/** Some customers come, change and leave. The newest one never leaves: a list without its newest may be an older one. */
function passTime(service: Service, dice: Dice): void {
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
function listOf(service: Service, dice: Dice): { list: SentRecord[]; odd: number | undefined } {
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
function stored(values: Values, hides: Hiding): Values {
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
function someHiding(dice: Dice): Hiding {
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

function entryOf(it: World, name: string) {
  const entry = it.model.get(name)
  if (entry === undefined) throw new Error(`${name} is not in the model`)
  return entry
}

/** A run of an organization, on a list that was edited since, which may be stopped or fail. */
export async function aNight(it: World, name: string): Promise<string> {
  const { service } = entryOf(it, name)
  const { dice } = it
  if (dice.chance(0.8)) passTime(service, dice)
  if (service.listed.size === 0) passTime(service, dice)
  const { list, odd } = listOf(service, dice)
  const ending = {
    ...(dice.chance(0.2) && { stopAfter: 1 + dice.below(3) }),
    ...(dice.chance(0.1) && { failAfter: dice.below(3) }),
    ...(dice.chance(0.2) && { stopHiding: 1 + dice.below(5) }),
  }
  const hides = service.hides
  const retention = someRetention(dice)
  const told = {
    ...{ organization: name, scan: 'chain' as const, pageSize: 10 },
    ...{ resumeWithinMs: dice.chance(0.5) ? -1 : 5 * DAY_MS, concurrency: 1 + dice.below(2) },
    ...{ removals: { after: it.after, maxShare: 1 }, privacy: policyOf(hides) },
    ...(dice.chance(0.6) && { retention }),
  }
  const { report } = await it.withMirror((mirror) => makeNight(mirror, it.day, { list, told, ...ending }))
  expect(JSON.stringify(report)).not.toMatch(/tok\d/)
  noteNight(it, name, report, odd)
  const kept = 'retention' in told ? ` keeps ${JSON.stringify(retention)}` : ''
  const ended = [report.status, report.proof, ...report.reasons, report.resumedFrom].join(' ')
  return `day ${it.day.toFixed(2)} night of ${name}: ${ended} ${JSON.stringify({ ...ending, hides })}${kept}`
}

function someRetention(dice: Dice): Retention {
  const some = (chance: number, days: number) => (dice.chance(chance) ? days * DAY_MS : undefined)
  return {
    changesMs: some(0.3, 1 + dice.below(20)),
    resolvedRejectsMs: some(0.5, dice.below(5)),
    runsMs: some(0.5, 1 + dice.below(5)),
    removedCustomersMs: some(0.3, 1 + dice.below(10)),
  }
}

/** What the mirror must hold after a run: known from the list, and from the mirror only where a run ended early, or went on from one. */
function noteNight(it: World, name: string, report: Report, odd: number | undefined): void {
  const { service, held } = entryOf(it, name)
  const rows = rowsOf(
    it.file,
    'SELECT customers.*, absences.proven FROM customers LEFT JOIN absences USING (organization, row_id) WHERE customers.organization = ? AND removed_at IS NULL',
    name,
  )
  const now = new Map(rows.map((row) => [Number.parseInt(String(row['id']).slice(0, 8), 16), row]))
  for (const n of held.forgotten) now.delete(n)
  if (report.status !== 'complete') {
    if (JSON.stringify(held.hides) !== JSON.stringify(service.hides)) held.hides = undefined
    // Some of the list was saved, and nothing may be removed.
    for (const n of service.listed.keys()) {
      const row = now.get(n)
      if (row !== undefined) held.active.add(n)
      if (row?.['missing_since'] === null) held.absent.delete(n)
    }
    return
  }
  held.hides = service.hides
  if (report.resumedFrom !== undefined) {
    held.active = new Set(now.keys())
    held.absent = new Map([...now].flatMap(([n, { proven }]) => (proven === null ? [] : [[n, Number(proven)]])))
    return
  }
  for (const n of held.active) {
    if (service.listed.has(n)) continue
    const times = (held.absent.get(n) ?? 0) + (report.proof === 'proven' ? 1 : 0)
    held.absent.set(n, times)
    const isGone = report.proof === 'settled' || report.reasons.includes('older-list') ? !now.has(n) : times >= it.after
    if (isGone) held.active.delete(n)
  }
  for (const n of [...held.absent.keys()]) if (service.listed.has(n) || !held.active.has(n)) held.absent.delete(n)
  for (const [n, values] of service.listed) {
    if (held.forgotten.has(n)) continue
    // A customer whose record cannot be kept has the values from before, if there are any.
    if (n !== odd || now.has(n)) held.active.add(n)
    if (n !== odd) expect(now.get(n)).toMatchObject(stored(values, service.hides))
  }
}

export async function forget(it: World, name: string): Promise<string> {
  const { held, service } = entryOf(it, name)
  const n = service.first + 1 + it.dice.below(MOST - 1)
  const asked = { organization: name, id: customerId(n), ...it.clocks }
  const forgotten = await it.withMirror((mirror) => mirror.forgetCustomer(asked).catch(refusal))
  if (typeof forgotten === 'string') return `forget ${name} ${n}: ${forgotten}`
  const erased = await it.withMirror((mirror) => mirror.eraseForgotten(asked.id))
  if (erased !== (onPostgres ? 'released' : 'erased')) throw new Error(`not erased: ${erased}`)
  held.active.delete(n)
  held.absent.delete(n)
  held.forgotten.add(n)
  return `forget ${name} ${n}: ${JSON.stringify(forgotten.deleted)}`
}

export async function readmit(it: World, name: string): Promise<string> {
  const { held } = entryOf(it, name)
  const n = it.pick([...held.forgotten])
  if (n === undefined) return 'nothing to undo'
  const asked = { organization: name, id: customerId(n), ...it.clocks }
  const error = await it.withMirror((mirror) => mirror.readmitCustomer(asked).catch(refusal))
  if (error === undefined) held.forgotten.delete(n)
  return `undo ${name} ${n}: ${error ?? 'done'}`
}

export async function changePolicy(it: World, name: string): Promise<string> {
  const { service } = entryOf(it, name)
  service.hides = it.dice.chance(0.3) ? SHOWS_ALL : someHiding(it.dice)
  return `policy of ${name}: ${JSON.stringify(service.hides)}`
}

export async function rename(it: World, name: string): Promise<string> {
  const to = `${name}x`
  const renamed = await withOrganizations(it, (o) => o.rename({ from: name, to }, it.clocks))
  if (typeof renamed === 'string') return `rename ${name}: ${renamed}`
  it.model.set(to, entryOf(it, name))
  it.model.delete(name)
  return `rename ${name} to ${to}`
}

export async function retire(it: World, name: string): Promise<string> {
  const { held } = entryOf(it, name)
  const retired = await withOrganizations(it, (o) => o.retire(name, it.clocks))
  if (typeof retired === 'string') return `retire ${name}: ${retired}`
  held.active.clear()
  held.absent.clear()
  return `retire ${name}: ${retired.removed}`
}

export async function forgetOrganization(it: World, name: string): Promise<string> {
  const { service } = entryOf(it, name)
  const done = await withOrganizations(it, (o) => o.forget(name, it.clocks))
  if (done !== true) throw new Error(`not forgotten: ${String(done)}`)
  it.model.delete(name)
  const texts = textsIn(it.file)
  const left = service.sent.filter(({ n, text }) => texts.has(text) || texts.has(customerId(n)))
  if (left.length > 0) throw new Error(`${name} is left: ${JSON.stringify(left)}`)
  return `forget ${name}`
}

export async function backup(it: World): Promise<string> {
  const file = join(dirname(it.file), 'backups', `${it.steps.length}.db`)
  await backUp(it.file, { file, ...it.clocks })
  it.backups.push({ file, model: copyOf(it.model) })
  return `backup ${it.backups.length}`
}

export async function restoreOne(it: World): Promise<string> {
  const chosen = it.pick(it.backups)
  if (chosen === undefined) return 'no backup yet'
  const { kept, forgotten: again } = await restore(chosen.file, it.file, it.clocks)
  if (kept !== undefined) rmSync(kept)
  const before = [...it.model].map(([name, { service, held }]) => ({ name, service, gone: held.forgotten }))
  it.model = copyOf(chosen.model)
  const forgotten = [...before, ...it.waiting]
  it.waiting = []
  for (const one of forgotten) {
    const { name, service, gone } = one
    const found = [...it.model].find(([, { service: other }]) => other === service)
    // Where the backup has no run that the mirror had, nothing shows that this is the organization under an earlier name.
    const isKnown = found !== undefined && (found[0] === name || isCarried(it, found[0], gone.size))
    const restored = isKnown ? found[1].held : undefined
    if (restored === undefined) it.waiting.push(one)
    for (const n of restored === undefined ? [] : gone) {
      restored?.forgotten.add(n)
      restored?.active.delete(n)
      restored?.absent.delete(n)
    }
  }
  return `restore ${it.backups.indexOf(chosen) + 1}: ${again} forgotten`
}

/** The ids, the values and the hashes in all that is stored. */
export function textsIn(address: string): Set<string> {
  return new Set(storedText(address).toLowerCase().match(TEXTS))
}

const TEXTS =
  /tok\d+q\d+q\d+end|with more than 32 characters|hmac:[0-9a-f]{64}|[0-9a-f]{8}-?0000-?4000-?8000-?[0-9a-f]{12}/g

function isCarried(it: World, name: string, least: number): boolean {
  return rowsOf(it.file, 'SELECT 1 FROM forgotten WHERE organization = ?', name).length >= least
}

function withOrganizations<Result>(it: World, work: (o: Mirror['organizations']) => Promise<Result>) {
  return it.withMirror(({ organizations }) => work(organizations).catch(refusal))
}

function refusal(error: unknown): string {
  if (error instanceof Error && /Usage|Leased/.test(error.name)) return error.message
  throw error
}
