import type { Row } from '../../src/model/customer.ts'
import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import type { Dice } from './dice.ts'

/** A window whose rows all have their fields. */
type ReadInFull = Omit<WindowAnswer, 'rows'> & { rows: readonly Row[] }

type Customer = { id: string; serial: number; createdSecond: number; name: number; changed: number }

const ORDERS = {
  'id asc': (a, b) => compareText(a.id, b.id),
  'id desc': (a, b) => compareText(b.id, a.id),
  'created asc, id asc': (a, b) => a.createdSecond - b.createdSecond || compareText(a.id, b.id),
  'created asc, id desc': (a, b) => a.createdSecond - b.createdSecond || compareText(b.id, a.id),
  'created desc, id asc': (a, b) => b.createdSecond - a.createdSecond || compareText(a.id, b.id),
  'created desc, id desc': (a, b) => b.createdSecond - a.createdSecond || compareText(b.id, a.id),
  name: (a, b) => a.name - b.name || compareText(a.id, b.id),
  serial: (a, b) => a.serial - b.serial,
  'last change asc': (a, b) => a.changed - b.changed,
  'last change desc': (a, b) => b.changed - a.changed,
} satisfies Record<string, (a: Customer, b: Customer) => number>

export type Order = keyof typeof ORDERS
/** `ties`: by creation time, with equal times in another order at every answer. */
export type ListOrder = Order | 'ties desc' | 'shuffled'

/** Orders by fields that never change. */
export const IMMUTABLE_ORDERS: readonly Order[] = [
  'id asc',
  'id desc',
  'created asc, id asc',
  'created asc, id desc',
  'created desc, id asc',
  'created desc, id desc',
]

export type ListOptions = {
  size: number
  order: ListOrder
  /** Customers created in one second, on average. */
  perSecond?: number
  /** The second of creation that the customer with this number, from 1, shows. */
  createdSecondOf?: (serial: number) => number
}

/** A service's customer list, with customers added, deleted and moved between any two answers. */
export class SimulatedList {
  readonly #dice: Dice
  readonly #order: ListOrder
  readonly #createdSecondOf: (serial: number) => number
  readonly #born = new Set<string>()
  readonly #moved = new Set<string>()
  #customers: Customer[] = []
  #made = 0

  constructor(dice: Dice, { size, order, perSecond = 1, createdSecondOf }: ListOptions) {
    this.#dice = dice
    this.#order = order
    this.#createdSecondOf = createdSecondOf ?? ((serial) => Math.floor(serial / perSecond))
    for (let made = 0; made < size; made++) this.#customers.push(this.#make())
    for (const { id } of this.#customers) this.#born.add(id)
    this.#sort()
  }

  get size(): number {
    return this.#customers.length
  }

  /** The customers listed from the start until now. */
  survivors(): string[] {
    return this.#customers.map(({ id }) => id).filter((id) => this.#born.has(id))
  }

  /** Those of them that never changed places with another. */
  stayed(): string[] {
    return this.survivors().filter((id) => !this.#moved.has(id))
  }

  insert(): void {
    this.#place(this.#make())
  }

  /** Deletes consecutive customers. */
  delete(count = 1, from = this.#dice.below(this.size)): void {
    for (const gone of this.#customers.splice(from, count)) this.#born.delete(gone.id)
  }

  /** Renames a customer, which is a change: the row moves in a list sorted by name or by last change. */
  move(from = this.#dice.below(this.size)): void {
    const [customer] = this.#customers.splice(from, 1)
    if (customer === undefined) return
    customer.name = this.#dice.next()
    customer.changed = ++this.#made
    if (this.#place(customer) !== from) this.#moved.add(customer.id)
  }

  answer(window: Window): ReadInFull {
    const from = window.size * (window.page - 1)
    const to = Math.min(this.size, from + window.size)
    const listed = isOrder(this.#order) ? this.#customers.slice(from, to) : this.#dealt(from, to)
    const rows = listed.map(({ id, createdSecond }) => ({ id, createdAt: iso(createdSecond) }))
    return { window, rows, total: this.size, perPage: window.size, beyondEnd: false }
  }

  /** Deals all customers anew, and returns those from place `from` to before `to`: only these are put in order one by one. */
  #dealt(from: number, to: number): Customer[] {
    const direction = this.#order === 'ties desc' ? -1 : 0
    const places = new Float64Array(this.size)
    for (const [index, { createdSecond }] of this.#customers.entries())
      places[index] = direction * createdSecond + this.#dice.next()
    const inOrder = places.toSorted()
    const [first, last] = [inOrder[from], inOrder[to - 1]]
    if (first === undefined || last === undefined || to <= from) return []
    const dealt: { customer: Customer; place: number }[] = []
    for (const [index, customer] of this.#customers.entries()) {
      const place = places[index] ?? 0
      if (first <= place && place <= last) dealt.push({ customer, place })
    }
    const alike = from - inOrder.indexOf(first)
    return dealt
      .toSorted((a, b) => a.place - b.place)
      .slice(alike, alike + to - from)
      .map(({ customer }) => customer)
  }

  #sort(): void {
    if (isOrder(this.#order)) this.#customers.sort(ORDERS[this.#order])
  }

  /** Inserts a customer in order, and returns the place. */
  #place(customer: Customer): number {
    const compare = isOrder(this.#order) ? ORDERS[this.#order] : () => 0
    let [from, to] = [0, this.size]
    while (from < to) {
      const middle = (from + to) >>> 1
      const other = this.#customers[middle]
      if (other !== undefined && compare(other, customer) <= 0) from = middle + 1
      else to = middle
    }
    this.#customers.splice(from, 0, customer)
    return from
  }

  #make(): Customer {
    const made = ++this.#made
    for (const place of [0, 4, 8, 12]) ID.writeUInt32BE(this.#dice.below(2 ** 32), place)
    return {
      id: ID.toString('hex'),
      serial: made,
      createdSecond: this.#createdSecondOf(made),
      name: this.#dice.next(),
      changed: made,
    }
  }
}

/** The bytes of the id that is being made. */
const ID = Buffer.alloc(16)

function isOrder(order: ListOrder): order is Order {
  return order in ORDERS
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The lists of all seeds show the same few seconds, a hundred in each answer. */
const TIMES = new Map<number, string>()

function iso(second: number): string {
  const known = TIMES.get(second)
  if (known !== undefined) return known
  const time = new Date(1_700_000_000_000 + second * 1000).toISOString()
  TIMES.set(second, time)
  return time
}
