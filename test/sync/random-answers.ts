import type { Dice } from '../support/dice.ts'
import type { KnownList, Person } from '../support/known-list.ts'
import type { Asked, WireAnswer } from './played-wire.ts'

type Row = Record<string, unknown>
/** A page that is about to be answered: `shown` is the one whose rows it has, `told` the number it gives itself. */
type Page = { shown: number; told: number; rows: Row[]; total: number | undefined; perPage: number }
/** What is known of it besides: the page and the size that were asked for, another page, and rows that come after it. */
type Facts = { number: number; asked: number; other: number; after: Row[]; total: number; dice: Dice }

/** Another page than the one asked for. */
const WRONG_PAGES = {
  'other page': ({ other }) => ({ shown: other, told: other }),
  'other page renumbered': ({ number, other }) => ({ shown: number > 1 && other > 1 ? other : number }),
  'page 1': () => ({ shown: 1, told: 1 }),
  'page 1 renumbered': () => ({ shown: 1 }),
} satisfies Record<string, (facts: Facts) => Partial<Page>>

/** A page that has other rows, or says something else of itself or of the list. */
const WRONG_ROWS = {
  'more rows': ({ after }, rows) => ({ rows: [...rows, ...after] }),
  'per_page 0': () => ({ perPage: 0 }),
  'other per_page': ({ asked, dice }) => ({ perPage: 1 + dice.below(asked) }),
  empty: () => ({ rows: [] }),
  'empty, total 0': () => ({ rows: [], total: 0 }),
  short: ({ dice }, rows) => ({ rows: rows.toSpliced(dice.below(rows.length), 1) }),
  twice: ({ dice }, rows) =>
    rows.length > 1 ? { rows: rows.with(dice.below(rows.length), rows[dice.below(rows.length)] ?? {}) } : {},
  'no id': ({ dice, number }, rows) =>
    rows.length > 0 ? { rows: rows.with(dice.below(rows.length), { name: 'nobody', email: `x${number}` }) } : {},
  'shuffled page': ({ dice }, rows) => ({ rows: rows.toSorted(() => dice.next() - 0.5) }),
  'total high': ({ total }) => ({ total: total + 150 }),
  'total low': ({ total }) => ({ total: Math.floor(total / 2) }),
  'no total': () => ({ total: undefined }),
  'random total': ({ total, dice }) => ({ total: dice.below(total * 2 + 1) }),
} satisfies Record<string, (facts: Facts, rows: Row[]) => Partial<Page>>

/** Another answer than the page. */
const WRONG_ANSWERS = {
  ...Object.fromEntries(
    [400, 403, 404, 422, 401, 500, 502, 503, 302, 304].map((status) => [status, () => refused(status)]),
  ),
  '503 wait': () => refused(503, { 'retry-after': '2' }),
  '429': () => refused(429, { 'retry-after': '1' }),
  '429 long': () => refused(429, { 'retry-after': '7200' }),
  truncated: (whole) => ({ ...whole, body: String(whole.body).slice(0, -20) }),
  HTML: (whole) => ({ ...whole, body: '<html><body>Welcome</body></html>' }),
  'no success': (whole) => ({ ...whole, body: String(whole.body).replace('true', 'false') }),
  'no data': (whole) => ({ ...whole, body: JSON.stringify({ success: true, data: null, meta: {} }) }),
  'not UTF-8': (whole) => ({ ...whole, body: Buffer.concat([Buffer.from([0xff]), Buffer.from(whole.body)]) }),
  reset: (whole) => ({ ...whole, broken: true }),
} satisfies Record<string, (whole: WireAnswer) => WireAnswer>

/** What a service may do wrong, from some answer on or now and then: also pages of few rows, sizes it refuses, and answers of a cache. */
const FAULTS = [
  ...[WRONG_PAGES, WRONG_ROWS, WRONG_ANSWERS].flatMap((kinds) => Object.keys(kinds)),
  ...['cap', 'fixed sizes', 'old'],
]

/** From one answer of a night to another, so often, on these pages. */
type Fault = { kind: string; from: number; to: number; chance: number; pages: (page: number) => boolean }

export const SEARCHES = ['works', 'exact', 'finds none', 'finds all', '404', '422', '500', 'finds others'] as const
type SearchKind = (typeof SEARCHES)[number]

type Cached = { body: string; atMs: number; tick: number }

/** A service that answers from a known list, and makes mistakes. */
export class RandomService {
  readonly list: KnownList
  readonly #dice: Dice
  faults: Fault[] = []
  search: SearchKind = 'works'
  beyondEnd: 'empty' | '404' | 'clamp' = 'empty'
  cap = 100
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
  readonly used = new Set<string>()
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
    this.cacheChance = night > 1 && dice.chance(0.15) ? dice.pick([0.1, 0.5, 1]) : 0
    for (let more = dice.chance(0.5) ? 0 : 1 + dice.below(2); more > 0; more--) {
      const kind = dice.pick(FAULTS)
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

  #page({ page: number, size: asked }: Asked, fault = ''): WireAnswer {
    const dice = this.#dice
    if (fault === 'fixed sizes' && asked !== this.cap && asked !== 100) return refused(422)
    const size = Math.min(asked, fault === 'cap' ? 3 + dice.below(40) : this.cap)
    const people = this.#people()
    const last = Math.max(1, Math.ceil(people.length / size))
    if (number > last && this.beyondEnd === '404') return refused(404)
    const there = number > last && this.beyondEnd === 'clamp' ? last : number
    const rowsFrom = (from: number, to: number) => people.slice(from, to).map((person) => this.#recordOf(person))
    const facts = { number, asked, other: 1 + dice.below(last + 1), total: people.length, dice, after: [] as Row[] }
    const place = { shown: there, told: there, ...wrong(WRONG_PAGES, fault)?.(facts) }
    const rows = rowsFrom(size * (place.shown - 1), size * place.shown)
    facts.after = rowsFrom(size * place.shown, size * place.shown + 3)
    const page = { rows, total: people.length, perPage: size, ...wrong(WRONG_ROWS, fault)?.(facts, rows) }
    const whole = pageOf({ rows: page.rows, page: place.told, size: page.perPage, total: page.total })
    return wrong(WRONG_ANSWERS, fault)?.(whole) ?? whole
  }
}

function wrong<Change>(kinds: Record<string, Change>, fault: string): Change | undefined {
  return Object.hasOwn(kinds, fault) ? kinds[fault] : undefined
}

function pageOf(told: { rows: readonly unknown[]; page: number; size: number; total: number | undefined }): WireAnswer {
  const { rows, page: current_page, size: per_page, total } = told
  const last_page = total === undefined ? undefined : Math.max(1, Math.ceil(total / Math.max(1, per_page)))
  const meta = { current_page, per_page, total, last_page }
  return { status: 200, headers: {}, body: JSON.stringify({ success: true, data: rows, meta }) }
}

function refused(status: number, headers: Record<string, string> = {}): WireAnswer {
  return { status, headers, body: JSON.stringify({ success: false, error: 'refused', message: 'No.' }) }
}
