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

export const ORDERS = [
  'serial',
  'created asc',
  'created desc',
  'id',
  'name',
  'last change asc',
  'last change desc',
  'restless ties',
  'shuffled',
] as const
export type Order = (typeof ORDERS)[number]

export type Churn = Partial<Record<'insert' | 'delete' | 'change' | 'purge' | 'push' | 'comeBack' | 'odd', number>>

export const DATES = [
  'honest',
  'same second',
  'few seconds',
  'two runs',
  'future rows',
  'unreadable',
  'backward',
] as const
export type Dates = (typeof DATES)[number]

/** A list of customers with its whole history: which customer was listed when, and with which values. Time is counted in ticks. */
export class KnownList {
  tick = 1
  readonly people: Person[] = []
  #listed: Person[] = []
  readonly dice: Dice
  readonly order: Order
  readonly dates: Dates
  readonly seed: number
  /** The current second, for the creation of customers. */
  second = 0

  constructor(dice: Dice, seed: number, order: Order, dates: Dates) {
    this.dice = dice
    this.seed = seed
    this.order = order
    this.dates = dates
  }

  get listed(): readonly Person[] {
    return this.#listed
  }

  find(id: string): Person | undefined {
    return this.people[Number.parseInt(id.slice(-12), 16) - 1]
  }

  #nameOf(person: Person): string {
    return person.versions.at(-1)?.name ?? ''
  }

  insert(): void {
    const n = this.people.length + 1
    const person: Person = {
      n,
      id: uuidOf(this.seed, n, this.dice),
      createdAt: this.#createdAt(n),
      sort: this.dice.next(),
      changed: this.tick,
      spans: [{ from: this.tick + 1, to: Infinity }],
      versions: [],
      odd: [],
    }
    person.versions.push({ from: 0, name: `${person.sort.toFixed(9)} of ${n}, edition 1` })
    this.people.push(person)
    this.#place(person)
    this.tick += 1
  }

  delete(from = this.dice.below(this.#listed.length), count = 1): void {
    this.tick += 1
    for (const person of this.#listed.splice(from, count)) {
      const span = person.spans.at(-1)
      if (span !== undefined) span.to = this.tick
    }
    this.tick += 1
  }

  change(place = this.dice.below(this.#listed.length)): void {
    const [person] = this.#listed.splice(place, 1)
    if (person === undefined) return
    this.tick += 1
    person.sort = this.dice.next()
    person.changed = this.tick
    const edition = person.versions.length + 1
    person.versions.push({ from: this.tick, name: `${person.sort.toFixed(9)} of ${person.n}, edition ${edition}` })
    this.#place(person)
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
    const person = this.#listed[this.dice.below(this.#listed.length)]
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
    if (happens('change')) this.change()
    if (happens('comeBack')) this.comeBack()
    if (happens('odd')) this.turnOdd()
    if (happens('purge'))
      this.delete(dice.below(this.#listed.length), 1 + dice.below(Math.max(1, this.#listed.length / 3)))
    if (happens('push')) {
      for (let moved = dice.below(3); moved > 0; moved--) this.change()
      for (let made = 1 + dice.below(60); made > 0; made--) this.insert()
    }
  }

  /** The list in its current order. */
  inOrder(): readonly Person[] {
    if (this.order === 'shuffled') return shuffled(this.#listed, this.dice)
    if (this.order !== 'restless ties') return this.#listed
    return shuffled(this.#listed, this.dice).toSorted((a, b) => compare(a.createdAt ?? '', b.createdAt ?? ''))
  }

  recordOf(person: Person): Record<string, unknown> {
    const isOdd = person.odd.at(-1)?.to === Infinity
    return {
      id: person.n % 17 === 0 ? person.id.toUpperCase() : person.id,
      name: this.#nameOf(person),
      username: `user-${this.seed}-${person.n}`,
      email: isOdd ? ['odd'] : `c${person.n}@s${this.seed}.example`,
      phone: null,
      created_at: person.createdAt,
    }
  }

  #place(person: Person): void {
    if (this.order === 'serial' || this.order === 'shuffled' || this.order === 'restless ties') {
      const at = this.#listed.findLastIndex(({ n }) => n < person.n)
      this.#listed.splice(at + 1, 0, person)
      return
    }
    const order = COMPARE[this.order]
    let [from, to] = [0, this.#listed.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      const other = this.#listed[middle]
      if (other !== undefined && order(other, person) <= 0) from = middle + 1
      else to = middle
    }
    this.#listed.splice(from, 0, person)
  }

  #createdAt(n: number): string | null {
    const { dice } = this
    const seconds = {
      honest: this.second + n,
      'same second': 1000,
      'few seconds': this.second + Math.floor(n / 7),
      'two runs': n % 200,
      'future rows': dice.chance(0.02) ? 4e8 + n : this.second + n,
      unreadable: dice.chance(0.05) ? Number.NaN : this.second + n,
      backward: 1e6 - n,
    }[this.dates]
    if (Number.isNaN(seconds)) return dice.chance(0.5) ? null : 'yesterday'
    return new Date(Date.UTC(2020, 0, 1) + seconds * 1000).toISOString()
  }
}

export function wasListedThroughout({ spans }: Person, from: number, to: number): boolean {
  return spans.some((span) => span.from <= from && span.to > to)
}

export function wasListedEver({ spans }: Person, from: number, to: number): boolean {
  return spans.some((span) => span.from <= to && span.to >= from)
}

/** The names a customer had at some moment between two ticks. */
export function namesBetween({ versions }: Person, from: number, to: number): string[] {
  return versions
    .filter((version, at) => version.from <= to && (versions[at + 1]?.from ?? Infinity) > from)
    .map(({ name }) => name)
}

export function wasOddBetween({ odd }: Person, from: number, to: number): boolean {
  return odd.some((span) => span.from <= to && span.to >= from)
}

const COMPARE = {
  'created asc': (a: Person, b: Person) => compare(a.createdAt ?? '', b.createdAt ?? '') || compare(a.id, b.id),
  'created desc': (a: Person, b: Person) => compare(b.createdAt ?? '', a.createdAt ?? '') || compare(a.id, b.id),
  id: (a: Person, b: Person) => compare(a.id, b.id),
  name: (a: Person, b: Person) => a.sort - b.sort,
  'last change asc': (a: Person, b: Person) => a.changed - b.changed,
  'last change desc': (a: Person, b: Person) => b.changed - a.changed,
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function shuffled<T>(things: readonly T[], dice: Dice): T[] {
  const deal = new Map(things.map((thing) => [thing, dice.next()]))
  return things.toSorted((a, b) => (deal.get(a) ?? 0) - (deal.get(b) ?? 0))
}

function uuidOf(seed: number, n: number, dice: Dice): string {
  const hex = (digits: number, value: number) => value.toString(16).padStart(digits, '0').slice(-digits)
  return `${hex(8, dice.below(2 ** 32))}-${hex(4, seed & 0xffff)}-4${hex(3, (seed >>> 16) & 0xfff)}-8000-${hex(12, n)}`
}
