import type { Dice } from './dice.ts'
import type { KnownList, Person } from './known-list.ts'
import type { Asked, WireAnswer } from './played-wire.ts'

/** What a service may do wrong, from some answer on or now and then. */
const FAULTS = [
  '400',
  '403',
  '404',
  '422',
  '401',
  '500',
  '502',
  '503',
  '503 wait',
  '429',
  '429 long',
  '302',
  '304',
  'other page',
  'other page renumbered',
  'page 1',
  'page 1 renumbered',
  'more rows',
  'per_page 0',
  'other per_page',
  'cap',
  'empty',
  'empty, total 0',
  'short',
  'twice',
  'total high',
  'total low',
  'no total',
  'random total',
  'truncated',
  'HTML',
  'no success',
  'no data',
  'not UTF-8',
  'reset',
  'no id',
  'old',
  'shuffled page',
  'fixed sizes',
] as const
export type FaultKind = (typeof FAULTS)[number]

/** From one answer of a night to another, so often, on these pages. */
export type Fault = { kind: FaultKind; from: number; to: number; chance: number; pages: (page: number) => boolean }

export const SEARCHES = ['works', 'exact', 'finds none', 'finds all', '404', '422', '500', 'finds others'] as const
export type SearchKind = (typeof SEARCHES)[number]

type Cached = { body: string; atMs: number; tick: number }

/** A service that answers from a known list, and makes mistakes. */
export class RandomService {
  readonly list: KnownList
  readonly #dice: Dice
  faults: Fault[] = []
  search: SearchKind = 'works'
  beyondEnd: 'empty' | '404' | 'clamp' = 'empty'
  cap = 100
  /** The greatest total that it tells. */
  greatestTotal = Infinity
  /** How the answers of a cache can be known: by Age, by Date, or by both. */
  cacheSays: 'Age' | 'Date' | 'both' = 'both'
  cacheChance = 0
  /** Hidden from the list, not from searches. */
  hidden = new Set<Person>()
  /** What a replica that stopped shows, list and searches. */
  replica: { people: readonly Person[]; records: Map<Person, Record<string, unknown>> } | undefined
  sendsDate = true
  /** How far its clock is ahead. */
  skewMs = 0
  answers = 0
  readonly used = new Set<FaultKind>()
  readonly #cache = new Map<string, Cached>()

  constructor(list: KnownList, dice: Dice) {
    this.list = list
    this.#dice = dice
  }

  /** What goes wrong tonight, beginning with its first answer. */
  plan(dice: Dice, night: number): void {
    this.answers = 0
    this.used.clear()
    this.faults = []
    this.cacheChance = night > 1 && dice.chance(0.15) ? ([0.1, 0.5, 1][dice.below(3)] ?? 0) : 0
    for (let more = dice.chance(0.5) ? 0 : 1 + dice.below(2); more > 0; more--) {
      const kind = FAULTS[dice.below(FAULTS.length)] ?? 'reset'
      // A list that is called empty at once cannot be told from one that is: the guard holds its removals.
      const from = (kind === 'empty, total 0' ? 2 : 1) + dice.below(9)
      const to = dice.chance(0.3) ? Infinity : from + 1 + dice.below(4)
      const only = 1 + dice.below(6)
      const pages = dice.chance(0.3) ? (page: number) => page === only : () => true
      this.faults.push({ kind, from, to, chance: dice.chance(0.5) ? 1 : 0.4, pages })
    }
  }

  /** What a replica that stops now goes on to show. */
  copy(): NonNullable<RandomService['replica']> {
    const people = [...this.list.inOrder()]
    return { people, records: new Map(people.map((person) => [person, this.list.recordOf(person)])) }
  }

  answer(asked: Asked, trueMs: number): WireAnswer {
    this.answers += 1
    this.list.tick += 1
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (this.sendsDate) headers['date'] = new Date(trueMs + this.skewMs).toUTCString()
    const cached = this.#cache.get(asked.key)
    if (cached !== undefined && this.#dice.chance(this.cacheChance)) return this.#fromCache(cached, headers, trueMs)
    const fault = this.faults.find(
      ({ from, to, chance, pages }) =>
        this.answers >= from && this.answers < to && pages(asked.page) && this.#dice.chance(chance),
    )
    if (fault !== undefined) this.used.add(fault.kind)
    const answer = asked.search === undefined ? this.#page(asked, fault?.kind) : this.#found(asked, asked.search)
    if (answer.status === 200 && fault === undefined && typeof answer.body === 'string')
      this.#cache.set(asked.key, { body: answer.body, atMs: trueMs, tick: this.list.tick })
    return { ...answer, headers: { ...headers, ...answer.headers } }
  }

  #fromCache({ body, atMs }: Cached, headers: Record<string, string>, trueMs: number): WireAnswer {
    const old = { ...headers }
    if (this.cacheSays !== 'Date') old['age'] = String(Math.floor((trueMs - atMs) / 1000))
    if (this.cacheSays !== 'Age') old['date'] = new Date(atMs + this.skewMs).toUTCString()
    this.used.add('old')
    return { status: 200, headers: old, body }
  }

  #people(): readonly Person[] {
    return this.replica?.people ?? this.list.inOrder().filter((person) => !this.hidden.has(person))
  }

  #recordOf(person: Person): Record<string, unknown> {
    return this.replica?.records.get(person) ?? this.list.recordOf(person)
  }

  #found({ size }: Asked, text: string): WireAnswer {
    const wanted = text.toLowerCase()
    const allPeople = this.replica?.people ?? this.list.listed
    const matches = (person: Person) => {
      const { name, username, email } = this.#recordOf(person)
      const texts = [name, username, email].map((value) => String(value).toLowerCase())
      if (this.search === 'exact') return texts.includes(wanted)
      return texts.some((value) => value.includes(wanted))
    }
    if (this.search === '404' || this.search === '422' || this.search === '500') return refused(Number(this.search))
    const found = {
      works: allPeople.filter(matches),
      exact: allPeople.filter(matches),
      'finds none': [],
      'finds all': allPeople,
      'finds others': allPeople.filter((person) => !matches(person)).slice(0, 3),
    }[this.search]
    const rows = found.slice(0, size).map((person) => this.#recordOf(person))
    return pageOf({ rows, page: 1, size, total: found.length })
  }

  #page({ page: number, size: asked }: Asked, fault: FaultKind | undefined): WireAnswer {
    const dice = this.#dice
    const status = Number.parseInt(fault ?? '', 10)
    if (fault === '503 wait') return { ...refused(503), headers: { 'retry-after': '2' } }
    if (fault === '429 long') return { ...refused(429), headers: { 'retry-after': '7200' } }
    if (fault === '429') return { ...refused(429), headers: { 'retry-after': '1' } }
    if (status >= 300) return refused(status)
    if (fault === 'fixed sizes' && asked !== this.cap && asked !== 100) return refused(422)
    const most = fault === 'cap' ? 3 + dice.below(40) : this.cap
    const size = Math.min(asked, most)
    const people = this.#people()
    const last = Math.max(1, Math.ceil(people.length / size))
    let shown = number
    let told = number
    if (number > last && this.beyondEnd === '404') return refused(404)
    if (number > last && this.beyondEnd === 'clamp') [shown, told] = [last, last]
    const other = 1 + dice.below(last + 1)
    if (fault === 'other page') [shown, told] = [other, other]
    if (fault === 'other page renumbered' && number > 1 && other > 1) shown = other
    if (fault === 'page 1') [shown, told] = [1, 1]
    if (fault === 'page 1 renumbered') shown = 1
    let rows = people.slice(size * (shown - 1), size * shown).map((person) => this.#recordOf(person))
    let total: number | undefined = Math.min(people.length, this.greatestTotal)
    let perPage = size
    if (fault === 'more rows')
      rows = [...rows, ...people.slice(size * shown, size * shown + 3).map((person) => this.#recordOf(person))]
    if (fault === 'per_page 0') perPage = 0
    if (fault === 'other per_page') perPage = 1 + dice.below(asked)
    if (fault === 'empty' || fault === 'empty, total 0') rows = []
    if (fault === 'empty, total 0' || fault === 'total low')
      total = fault === 'total low' ? Math.floor(people.length / 2) : 0
    if (fault === 'total high') total = people.length + 150
    if (fault === 'no total') total = undefined
    if (fault === 'random total') total = dice.below(people.length * 2 + 1)
    if (fault === 'short') rows.splice(dice.below(rows.length), 1)
    if (fault === 'twice' && rows.length > 1) rows[dice.below(rows.length)] = rows[dice.below(rows.length)] ?? {}
    if (fault === 'no id' && rows.length > 0) rows[dice.below(rows.length)] = { name: 'nobody', email: `x${number}` }
    if (fault === 'shuffled page') rows = rows.toSorted(() => dice.next() - 0.5)
    const whole = pageOf({ rows, page: told, size: perPage, total })
    if (fault === 'truncated') return { ...whole, body: String(whole.body).slice(0, -20) }
    if (fault === 'HTML') return { ...whole, body: '<html><body>Welcome</body></html>' }
    if (fault === 'no success') return { ...whole, body: String(whole.body).replace('true', 'false') }
    if (fault === 'no data') return { ...whole, body: JSON.stringify({ success: true, data: null, meta: {} }) }
    if (fault === 'not UTF-8') return { ...whole, body: Buffer.concat([Buffer.from([0xff]), Buffer.from(whole.body)]) }
    if (fault === 'reset') return { ...whole, broken: true }
    return whole
  }
}

function pageOf(told: { rows: readonly unknown[]; page: number; size: number; total: number | undefined }): WireAnswer {
  const { rows, page: current_page, size: per_page, total } = told
  const last_page = total === undefined ? undefined : Math.max(1, Math.ceil(total / Math.max(1, per_page)))
  const meta = { current_page, per_page, total, last_page }
  return { status: 200, headers: {}, body: JSON.stringify({ success: true, data: rows, meta }) }
}

function refused(status: number): WireAnswer {
  return { status, headers: {}, body: JSON.stringify({ success: false, error: 'refused', message: 'No.' }) }
}
