import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import type { Dice } from './dice.ts'

type Span = { from: number; to: number }
export type Person = {
  n: number
  id: string
  createdAt: string | null
  sort: number
  changed: number
  spans: Span[]
  versions: { from: number; name: string }[]
  odd: Span[]
  /** The mirror must hold nothing of this customer, although the service goes on listing it: the history is empty. */
  isForgotten?: true
}

/** `ties`: by creation time, with equal times in another order at every answer. */
export type Order = keyof typeof COMPARE | 'ties asc' | 'ties desc' | 'shuffled'

export type Churn = Partial<Record<'insert' | 'delete' | 'change' | 'purge' | 'push' | 'comeBack' | 'odd', number>>

type ListOptions = {
  order: Order
  size?: number
  seed?: number
  /** Whether every third customer chooses what many have, or what hardly a search finds. */
  isHostile?: boolean
  /** The creation time that the customer with this number, from 1, shows. */
  createdAtOf?: (n: number) => string | null
}

/** A list of customers with its whole history: which customer was listed when, and with which values. Time is counted in ticks. */
export class KnownList {
  tick = 1
  readonly people: Person[] = []
  readonly #listed: Person[] = []
  readonly #moved = new Set<Person>()
  readonly dice: Dice
  readonly order: Order
  readonly #options: Required<ListOptions>

  constructor(dice: Dice, options: ListOptions) {
    this.dice = dice
    this.order = options.order
    this.#options = { size: 0, seed: 0, isHostile: false, createdAtOf: atSecond, ...options }
    for (let made = 0; made < this.#options.size; made += 1) this.insert()
  }

  get listed(): readonly Person[] {
    return this.#listed
  }

  get size(): number {
    return this.#listed.length
  }

  find(id: string): Person | undefined {
    return this.people[Number.parseInt(id.slice(-12), 16) - 1]
  }

  /** The ids of those listed from the start until now, where none has come back. */
  survivors({ inPlace = false } = {}): string[] {
    const { size } = this.#options
    return this.#listed.filter((each) => each.n <= size && !(inPlace && this.#moved.has(each))).map(({ id }) => id)
  }

  insert(): void {
    const { dice } = this
    const { seed, createdAtOf } = this.#options
    const n = this.people.length + 1
    const person: Person = {
      n,
      id: uuidOf(seed, n, dice),
      createdAt: createdAtOf(n),
      sort: dice.next(),
      changed: this.tick,
      spans: [{ from: this.tick + 1, to: Infinity }],
      versions: [],
      odd: [],
    }
    person.versions.push({ from: 0, name: this.#nameOf(person) })
    this.people.push(person)
    this.#place(person)
    this.tick += 1
  }

  delete(count = 1, from = this.dice.below(this.size)): void {
    this.tick += 1
    for (const person of this.#listed.splice(from, count)) {
      const span = person.spans.at(-1)
      if (span !== undefined) span.to = this.tick
    }
    this.tick += 1
  }

  /** Renames a customer, which moves in a list sorted by name or by last change. */
  move(place = this.dice.below(this.size)): void {
    const [person] = this.#listed.splice(place, 1)
    if (person === undefined) return
    this.tick += 1
    person.sort = this.dice.next()
    person.changed = this.tick
    person.versions.push({ from: this.tick, name: this.#nameOf(person) })
    if (this.#place(person) !== place) this.#moved.add(person)
    this.tick += 1
  }

  comeBack(): void {
    const gone = this.people.filter(({ spans, isForgotten }) => spans.at(-1)?.to !== Infinity && isForgotten !== true)
    const person = gone[this.dice.below(gone.length)]
    if (person === undefined) return
    this.tick += 1
    person.spans.push({ from: this.tick, to: Infinity })
    person.changed = this.tick
    this.#place(person)
    this.tick += 1
  }

  /** Makes the record of a customer a reject, or valid again. */
  turnOdd(): void {
    const person = this.#listed[this.dice.below(this.size)]
    if (person === undefined) return
    this.tick += 1
    const last = person.odd.at(-1)
    if (last?.to === Infinity) last.to = this.tick
    else person.odd.push({ from: this.tick, to: Infinity })
    this.tick += 1
  }

  forget(person: Person): void {
    person.isForgotten = true
    person.spans.length = 0
  }

  stir(churn: Churn): void {
    const { dice } = this
    const happens = (kind: keyof Churn) => dice.chance(churn[kind] ?? 0)
    if (happens('insert')) this.insert()
    if (happens('delete')) this.delete()
    if (happens('change')) this.move()
    if (happens('comeBack')) this.comeBack()
    if (happens('odd')) this.turnOdd()
    if (happens('purge')) {
      const from = dice.below(this.size)
      this.delete(1 + dice.below(Math.max(1, this.size / 3)), from)
    }
    if (happens('push')) {
      for (let moved = dice.below(3); moved > 0; moved--) this.move()
      for (let made = 1 + dice.below(60); made > 0; made--) this.insert()
    }
  }

  inOrder(): readonly Person[] {
    if (isFixed(this.order)) return this.#listed
    // Numbers are sorted in a tenth of the time: what was dealt to each, and its place below 2^16.
    const dealt = Float64Array.from(this.#listed, (_, at) => Math.floor(this.dice.next() * 2 ** 32) * 2 ** 16 + at)
    const dealtOut = Array.from(dealt.toSorted(), (key) => this.#listed[key % 2 ** 16])
    const shuffled = dealtOut.filter((each) => each !== undefined)
    if (this.order === 'shuffled') return shuffled
    const [first, second] = this.order === 'ties asc' ? [-1, 1] : [1, -1]
    return shuffled.toSorted(({ createdAt: a }, { createdAt: b }) =>
      a === b ? 0 : (a ?? '') < (b ?? '') ? first : second,
    )
  }

  answer(window: Window): WindowAnswer {
    const people = this.inOrder().slice(window.size * (window.page - 1), window.size * window.page)
    const rows = people.map(({ id, createdAt }) => ({ id, createdAt: createdAt ?? undefined }))
    return { window, rows, total: this.size, perPage: window.size, beyondEnd: false }
  }

  recordOf(person: Person): Record<string, unknown> {
    const { seed } = this.#options
    const isOdd = person.odd.at(-1)?.to === Infinity
    return {
      id: person.n % 17 === 0 ? person.id.toUpperCase() : person.id,
      name: person.versions.at(-1)?.name ?? '',
      username: this.chosenBy(person) ?? `user-${seed}-${person.n}`,
      email: isOdd ? ['odd'] : (this.chosenBy(person) ?? `c${person.n}@s${seed}.example`),
      phone: null,
      created_at: person.createdAt,
    }
  }

  /** What this person chose for all fields, if that is what many have, or what hardly a search finds. */
  chosenBy({ n }: Person): string | undefined {
    return this.#options.isHostile && n % 3 === 0 ? CHOSEN[n % CHOSEN.length] : undefined
  }

  #nameOf(person: Person): string {
    const { sort, n, versions } = person
    return this.chosenBy(person) ?? `${sort.toFixed(9)} of ${n}, edition ${versions.length + 1}`
  }

  /** Inserts a customer in order, and returns the place. */
  #place(person: Person): number {
    const order = COMPARE[isFixed(this.order) ? this.order : 'serial']
    let [from, to] = [0, this.size]
    while (from < to) {
      const middle = (from + to) >>> 1
      const other = this.#listed[middle]
      if (other !== undefined && order(other, person) <= 0) from = middle + 1
      else to = middle
    }
    this.#listed.splice(from, 0, person)
    return from
  }
}

export function wasListedThroughout({ spans }: Person, from: number, to: number): boolean {
  return spans.some((span) => span.from <= from && span.to > to)
}

export function overlap(spans: readonly Span[], from: number, to: number): boolean {
  return spans.some((span) => span.from <= to && span.to >= from)
}

export function namesBetween({ versions }: Person, from: number, to: number): string[] {
  return versions
    .filter((version, at) => version.from <= to && (versions[at + 1]?.from ?? Infinity) > from)
    .map(({ name }) => name)
}

const CHOSEN = ['e', '%', '\u0130\u0130', "' OR 1=1 --", 'user-1']

const created = (a: Person, b: Person) => compare(a.createdAt ?? '', b.createdAt ?? '')
const byId = (a: Person, b: Person) => compare(a.id, b.id)

const COMPARE = {
  'id asc': byId,
  'id desc': (a, b) => byId(b, a),
  'created asc, id asc': (a, b) => created(a, b) || byId(a, b),
  'created desc, id asc': (a, b) => created(b, a) || byId(a, b),
  'created desc, id desc': (a, b) => created(b, a) || byId(b, a),
  serial: (a, b) => a.n - b.n,
  name: (a, b) => a.sort - b.sort,
  'last change asc': (a, b) => a.changed - b.changed,
  'last change desc': (a, b) => b.changed - a.changed,
} satisfies Record<string, (a: Person, b: Person) => number>

function isFixed(order: Order): order is keyof typeof COMPARE {
  return order in COMPARE
}

/** A creation time so many seconds after a fixed one. Lists show the same few. */
export function atSecond(second: number): string {
  return (TIMES[second] ??= new Date(Date.UTC(2020, 0, 1) + second * 1000).toISOString())
}

const TIMES: Record<number, string> = {}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function uuidOf(seed: number, n: number, dice: Dice): string {
  const hex = (digits: number, value: number) => value.toString(16).padStart(digits, '0').slice(-digits)
  return `${hex(8, dice.below(2 ** 32))}-${hex(4, seed & 0xffff)}-4${hex(3, (seed >>> 16) & 0xfff)}-8000-${hex(12, n)}`
}
