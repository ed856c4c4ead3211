import type { Dice } from '../support/dice.ts'
import type { KnownList, Person } from '../support/known-list.ts'
import type { Asked, WireAnswer } from '../support/played-wire.ts'

type Sent = Record<string, unknown>

/** An answer before it is written. */
type Page = { rows: readonly Sent[]; page: number; size: number; total: number | undefined }

/** What a mistake is made of: the request, the page shown, another one, and the rows of any. */
type Served = {
  dice: Dice
  asked: Asked
  shown: number
  other: number
  count: number
  rowsOf: (page: number, more?: number) => readonly Sent[]
}

/** Statuses in place of an answer, and how long some ask to wait. */
const REFUSALS = '400,403,404,422,401,500,502,503,503 wait,429,429 long,302,304'.split(',')
const WAITS: Readonly<Record<string, string>> = { '503 wait': '2', '429': '1', '429 long': '7200' }

const resent = (change: (body: string) => string | Buffer) => (page: Page) => {
  const whole = pageOf(page)
  return { ...whole, body: change(String(whole.body)) }
}

/** What a service may do wrong with a page. What `cap`, `old` and `fixed sizes` do is decided before. */
const MISTAKES: Readonly<Record<string, (page: Page, served: Served) => Partial<Page> | WireAnswer>> = {
  'other page': (_, { other, rowsOf }) => ({ rows: rowsOf(other), page: other }),
  'other page renumbered': (_, { other, asked, rowsOf }) =>
    asked.page > 1 && other > 1 ? { rows: rowsOf(other) } : {},
  'page 1': (_, { rowsOf }) => ({ rows: rowsOf(1), page: 1 }),
  'page 1 renumbered': (_, { rowsOf }) => ({ rows: rowsOf(1) }),
  'more rows': (_, { shown, rowsOf }) => ({ rows: rowsOf(shown, 3) }),
  'per_page 0': () => ({ size: 0 }),
  'other per_page': (_, { dice, asked }) => ({ size: 1 + dice.below(asked.size) }),
  cap: () => ({}),
  empty: () => ({ rows: [] }),
  'empty, total 0': () => ({ rows: [], total: 0 }),
  short: ({ rows }, { dice }) => ({ rows: rows.toSpliced(dice.below(rows.length), 1) }),
  twice: ({ rows }, { dice }) =>
    rows.length > 1 ? { rows: rows.with(dice.below(rows.length), rows[dice.below(rows.length)] ?? {}) } : {},
  'total high': (_, { count }) => ({ total: count + 150 }),
  'total low': (_, { count }) => ({ total: Math.floor(count / 2) }),
  'no total': () => ({ total: undefined }),
  'random total': (_, { dice, count }) => ({ total: dice.below(count * 2 + 1) }),
  truncated: resent((body) => body.slice(0, -20)),
  HTML: resent(() => '<html><body>Welcome</body></html>'),
  'no success': resent((body) => body.replace('true', 'false')),
  'no data': resent(() => '{"success":true,"data":null,"meta":{}}'),
  'not UTF-8': resent((body) => Buffer.concat([Buffer.from([0xff]), Buffer.from(body)])),
  reset: (page) => ({ ...pageOf(page), broken: true }),
  'no id': ({ rows }, { dice, asked }) =>
    rows.length > 0 ? { rows: rows.with(dice.below(rows.length), { name: 'no id', email: `x${asked.page}` }) } : {},
  old: () => ({}),
  'shuffled page': ({ rows }, { dice }) => ({ rows: rows.toSorted(() => dice.next() - 0.5) }),
  'fixed sizes': () => ({}),
}

const FAULTS = [...REFUSALS, ...Object.keys(MISTAKES)]

/** From one answer of a night to another, so often, on these pages. */
type Fault = { kind: string; from: number; to: number; chance: number; pages: (page: number) => boolean }

export const SEARCHES = ['works', 'exact', 'finds none', 'finds all', '404', '422', '500', 'finds others'] as const

type Cached = { body: string; atMs: number; tick: number }

/** An answer of a cache that is no older is taken for one that was made now: dates of HTTP are whole seconds. */
const AS_NEW_MS = 6000

/** A service that answers from a known list, and makes mistakes. */
export class RandomService {
  readonly list: KnownList
  readonly #dice: Dice
  faults: Fault[] = []
  search: (typeof SEARCHES)[number] = 'works'
  beyondEnd: 'empty' | '404' | 'clamp' = 'empty'
  cap = 100
  greatestTotal = Infinity
  /** How the answers of a cache can be known: by Age, by Date, or by both. */
  cacheSays: 'Age' | 'Date' | 'both' = 'both'
  cacheChance = 0
  /** Hidden from the list, not from searches. */
  hidden = new Set<Person>()
  /** What a replica that stopped shows, list and searches. */
  replica: { people: readonly Person[]; records: Map<Person, Sent> } | undefined
  sendsDate = true
  skewMs = 0
  /** How often it answered in this run, and how often wrongly or from a cache. */
  answers = 0
  mistakes = 0
  /** The state of the list that the oldest answer of this run shows which may be taken as new. */
  oldestTick = Infinity
  readonly #cache = new Map<string, Cached>()

  constructor(list: KnownList, dice: Dice) {
    this.list = list
    this.#dice = dice
  }

  /** What goes wrong tonight, beginning with its first answer. */
  plan(dice: Dice, night: number): void {
    this.answers = 0
    this.mistakes = 0
    this.oldestTick = Infinity
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
    )?.kind
    if (fault !== undefined) this.mistakes += 1
    const answer = asked.search === undefined ? this.#page(asked, fault) : this.#found(asked, asked.search)
    if (answer.status === 200 && fault === undefined && typeof answer.body === 'string')
      this.#cache.set(asked.key, { body: answer.body, atMs: trueMs, tick: this.list.tick })
    return { ...answer, headers: { ...headers, ...answer.headers } }
  }

  #fromCache({ body, atMs, tick }: Cached, headers: Record<string, string>, trueMs: number): WireAnswer {
    if (trueMs - atMs <= AS_NEW_MS) this.oldestTick = Math.min(this.oldestTick, tick)
    const old = { ...headers }
    if (this.cacheSays !== 'Date') old['age'] = String(Math.floor((trueMs - atMs) / 1000))
    if (this.cacheSays !== 'Age') old['date'] = new Date(atMs + this.skewMs).toUTCString()
    this.mistakes += 1
    return { status: 200, headers: old, body }
  }

  #recordOf(person: Person): Sent {
    return this.replica?.records.get(person) ?? this.list.recordOf(person)
  }

  #found({ size }: Asked, text: string): WireAnswer {
    const wanted = text.toLowerCase()
    const allPeople = this.replica?.people ?? this.list.listed
    const matches = (person: Person) => {
      const { name, username, email } = this.#recordOf(person)
      const texts = [name, username, email].map((value) => String(value).toLowerCase())
      return this.search === 'exact' ? texts.includes(wanted) : texts.some((value) => value.includes(wanted))
    }
    if (this.search === '404' || this.search === '422' || this.search === '500') return refused(this.search)
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

  #page(asked: Asked, fault = ''): WireAnswer {
    const dice = this.#dice
    if (REFUSALS.includes(fault)) return refused(fault)
    if (fault === 'fixed sizes' && asked.size !== this.cap && asked.size !== 100) return refused('422')
    const size = Math.min(asked.size, fault === 'cap' ? 3 + dice.below(40) : this.cap)
    const people = this.replica?.people ?? this.list.inOrder().filter((person) => !this.hidden.has(person))
    const last = Math.max(1, Math.ceil(people.length / size))
    if (asked.page > last && this.beyondEnd === '404') return refused('404')
    const shown = this.beyondEnd === 'clamp' ? Math.min(asked.page, last) : asked.page
    const rowsOf = (number: number, more = 0) =>
      people.slice(size * (number - 1), size * number + more).map((person) => this.#recordOf(person))
    const page = { rows: rowsOf(shown), page: shown, size, total: Math.min(people.length, this.greatestTotal) }
    const served = { dice, asked, shown, rowsOf, count: people.length, other: 1 + dice.below(last + 1) }
    const spoiled = MISTAKES[fault]?.(page, served) ?? {}
    return 'status' in spoiled ? spoiled : pageOf({ ...page, ...spoiled })
  }
}

function pageOf({ rows, page: current_page, size: per_page, total }: Page): WireAnswer {
  const last_page = total === undefined ? undefined : Math.max(1, Math.ceil(total / Math.max(1, per_page)))
  const meta = { current_page, per_page, total, last_page }
  return { status: 200, headers: {}, body: JSON.stringify({ success: true, data: rows, meta }) }
}

function refused(kind: string): WireAnswer {
  const wait = WAITS[kind]
  return {
    status: Number.parseInt(kind, 10),
    headers: wait === undefined ? {} : { 'retry-after': wait },
    body: JSON.stringify({ success: false, error: 'refused', message: 'No.' }),
  }
}
