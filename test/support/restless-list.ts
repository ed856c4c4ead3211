import type { Dice } from './dice.ts'

/**
 * How a list is ordered: by a number that is not shown and never changes; by the second of creation, with equal ones in another order
 * at every answer; by name; by last change; by a number that is not shown and changes; or anew at every answer.
 */
export const LIST_KINDS = [
  'hidden number',
  'created, ties',
  'name',
  'last change first',
  'last change last',
  'restless number',
  'shuffled',
] as const
export type ListKind = (typeof LIST_KINDS)[number]

/** How often each change happens before an answer: 0.5 is every other time, 3 is three times. */
export type Rates = { insert: number; delete: number; change: number; bulk: number }

export type Listed = {
  readonly serial: number
  key: number
  readonly createdSecond: number
  /** Counts the changes of its fields. */
  edition: number
  /** The moment since which it is listed, and the last one at which it took another place. */
  readonly listedAt: number
  movedAt: number
}

/** In these a customer who is changed keeps its place. */
const STEADY: ReadonlySet<ListKind> = new Set(['hidden number', 'created, ties', 'shuffled'])

/** Rows that come, leave or move at once, and rows after which none are added: a scan could not keep up. */
const MOST_AT_ONCE = 150
const MOST_ROWS = 3000

/** A list that changes while it is read, with the moment of every change. A moment is a number that only grows. */
export class RestlessList {
  readonly kind: ListKind
  readonly #dice: Dice
  readonly #rows: Listed[] = []
  /** Customers who left. */
  readonly #gone: Listed[] = []
  /** The share of changes by which a number that is not shown changes too. */
  readonly #restlessness: number
  readonly #seconds: (serial: number) => number
  moment = 0
  #made = 0

  constructor(dice: Dice, kind: ListKind, size: number) {
    this.#dice = dice
    this.kind = kind
    this.#restlessness = [1, 0.5, 0.02][dice.below(3)] ?? 1
    const perSecond = 1 + dice.below(dice.chance(0.5) ? 3 : 40)
    this.#seconds = (serial) => (kind === 'created, ties' ? Math.floor(serial / perSecond) : (serial * 7919) % 99_991)
    for (let made = 0; made < size; made += 1) this.#insert()
    this.moment += 1
  }

  get size(): number {
    return this.#rows.length
  }

  get rows(): readonly Listed[] {
    return this.#rows
  }

  /** The order in which an answer shows the rows. */
  shown(): readonly Listed[] {
    if (this.kind !== 'shuffled' && this.kind !== 'created, ties') return this.#rows
    const dealt = this.#rows.map((row) => ({ row, place: this.#dice.next() }))
    const first = (row: Listed): number => (this.kind === 'shuffled' ? 0 : row.key)
    return dealt.toSorted((a, b) => first(a.row) - first(b.row) || a.place - b.place).map(({ row }) => row)
  }

  /** Customers who may have stood elsewhere among the others at some moment since `since`, whether still listed or not. */
  movedSince(since: number): Set<number> {
    const known = [...this.#rows, ...this.#gone]
    if (this.kind === 'shuffled') return new Set(known.map(({ serial }) => serial))
    const seconds = Map.groupBy(known, ({ key }) => key)
    const isTied = ({ key }: Listed): boolean => this.kind === 'created, ties' && (seconds.get(key)?.length ?? 0) > 1
    return new Set(known.filter((row) => row.movedAt >= since || isTied(row)).map(({ serial }) => serial))
  }

  /** Customers listed since a moment before `since`. */
  livedSince(since: number): Listed[] {
    return this.#rows.filter(({ listedAt }) => listedAt < since)
  }

  stir(rates: Rates): void {
    this.moment += 1
    const many = this.#dice.chance(rates.bulk) ? 2 + this.#dice.below(MOST_AT_ONCE) : 1
    if (this.size < MOST_ROWS) this.#often(rates.insert, () => this.#times(many, () => this.#insert()))
    this.#often(rates.delete, () => this.#gone.push(...this.#rows.splice(this.#dice.below(this.size), many)))
    this.#often(rates.change, () => this.#change(many))
  }

  #insert(): void {
    const serial = ++this.#made
    const createdSecond = this.#seconds(serial)
    const key = this.kind === 'created, ties' ? createdSecond : this.#newKey()
    this.#place({ serial, key, createdSecond, edition: 1, listedAt: this.moment, movedAt: -1 })
  }

  /** Changes a customer, or several who stand together, which take their new place together. */
  #change(many: number): void {
    const at = this.#dice.below(this.size)
    const moves = this.kind === 'restless number' ? this.#dice.chance(this.#restlessness) : !STEADY.has(this.kind)
    if (!moves) {
      for (const row of this.#rows.slice(at, at + many)) row.edition += 1
      return
    }
    const group = this.#rows.splice(at, many)
    const key = this.#dice.chance(this.kind === 'name' ? 0.2 : 0.9) ? this.#keyNear(at) : this.#newKey()
    for (const [place, row] of group.entries()) {
      row.edition += 1
      row.movedAt = this.moment
      row.key = this.kind.startsWith('last change') ? this.#newKey() : key + place * 1e-9
      this.#place(row)
    }
  }

  #newKey(): number {
    this.moment += 1
    if (this.kind === 'last change first') return -this.moment
    if (this.kind === 'last change last') return this.moment
    return this.#dice.next()
  }

  /** A key a few places away: names are corrected more often than exchanged. */
  #keyNear(at: number): number {
    const place = Math.min(Math.max(0, at + this.#dice.below(41) - 20), Math.max(0, this.size - 2))
    const [before = 0, after = 1] = this.#rows.slice(place, place + 2).map(({ key }) => key)
    return before + (after - before) * this.#dice.next()
  }

  #place(row: Listed): void {
    let [from, to] = [0, this.size]
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((this.#rows[middle]?.key ?? 0) <= row.key) from = middle + 1
      else to = middle
    }
    this.#rows.splice(from, 0, row)
  }

  #often(rate: number, act: () => void): void {
    const whole = Math.floor(rate)
    this.#times(whole + (this.#dice.chance(rate - whole) ? 1 : 0), act)
  }

  #times(count: number, act: () => void): void {
    for (let done = 0; done < count; done += 1) act()
  }
}

/** Rates for one reading: at rest, calm as at night, or busy. */
export function someRates(dice: Dice): Rates {
  const most = [0, 0.05, 0.3, 1, 4][dice.below(5)] ?? 0
  const rate = (): number => (dice.chance(0.3) ? 0 : dice.next() * most)
  return { insert: rate(), delete: rate(), change: rate(), bulk: dice.chance(0.2) ? 0.1 : 0 }
}
