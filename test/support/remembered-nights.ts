import type { OrderFacts } from '../../src/list/order-facts.ts'
import type { Certificate } from '../../src/scan/certificate.ts'
import { chainScan } from '../../src/scan/chain-scan.ts'
import type { RememberedList } from '../../src/scan/proof/remembered-order.ts'
import { rowOf, startOf, type Window, type WindowAnswer } from '../../src/scan/window/window.ts'
import { dice, type Dice } from './dice.ts'
import { drive } from './drive-scan.ts'

/**
 * The order of a list that shows neither ids nor creation times in order: by a hidden number that never changes, by name, by last
 * change, or by a hidden number that changes: on any night, or from the third night on.
 */
const NIGHTLY_ORDERS = [
  'hidden',
  'name',
  'last change asc',
  'last change desc',
  'balance',
  'balance from the third night',
] as const
export type NightlyOrder = (typeof NIGHTLY_ORDERS)[number]

export type NightRead = {
  night: number
  order: NightlyOrder
  certificate: Certificate
  requests: number
  /** Customers at the start. */
  size: number
  /** Customers listed during the whole scan who were not read, and how many of those kept their place among the others. */
  lost: number
  lostInPlace: number
}

/** The probability of each change between two answers. */
type Churn = Record<'insert' | 'delete' | 'change' | 'shift', number>

type Customer = { rowId: number; key: number; bornAt: number; movedAt: number }

/** So many nights of one list, each read by a scan that knows the list as the night before read it. A seed decides everything. */
export function playNights(order: NightlyOrder, seed: number, { nights = 5 } = {}): NightRead[] {
  const luck = dice(seed)
  const list = new NightlyList(luck, order, 120 + luck.below(700))
  const memory = new Memory()
  const reads: NightRead[] = []
  for (let night = 1; night <= nights; night += 1) {
    list.night = night
    if (night > 1) list.passDay()
    reads.push(readNight(luck, list, memory))
  }
  return reads
}

function readNight(luck: Dice, list: NightlyList, memory: Memory): NightRead {
  const { size, tick: startedAt } = list
  const scan = chainScan({ order: memory.facts, list: memory.tonight() })
  const churn = someChurn(luck, list.shift)
  const service = { answer: (window: Window) => list.answer(window), between: () => list.stir(churn) }
  const watched = { ...service, answer: (window: Window) => memory.save(service.answer(window), list) }
  const { reads, requests } = drive(scan, watched, { dice: luck, parallel: 1 + luck.below(6) })
  const seen = new Set(reads.flatMap(({ rows }) => rows.map((row) => rowOf(row).rowId)))
  const lost = list.customers.filter(({ rowId, bornAt }) => bornAt <= startedAt && !seen.has(rowId))
  // A list by name shows it; so do pages of every other list that it is not sorted by a field.
  const left = list.order === 'name' ? ['name'] : []
  memory.remember(reads, { ...scan.order, fields: scan.order.fields ?? { ruledOut: ['phone'], left } })
  return {
    night: list.night,
    order: list.order,
    certificate: scan.certificate(),
    requests,
    size,
    lost: lost.length,
    lostInPlace: lost.filter(({ movedAt }) => movedAt <= startedAt).length,
  }
}

/** A day between two nights is so many times longer than the time between two answers. */
const ANSWERS_A_DAY = 300

function someChurn(luck: Dice, shift: number): Churn {
  const some = () => (luck.chance(0.3) ? 0 : luck.next() ** 2 * 0.6)
  return { insert: some(), delete: some(), change: some(), shift }
}

/** A list whose order does not show. */
class NightlyList {
  readonly #luck: Dice
  readonly order: NightlyOrder
  readonly customers: Customer[] = []
  /** How likely it is, between two answers, that a hidden number changes. */
  readonly shift: number
  night = 1
  tick = 1
  #made = 0
  /** By row number, also of customers who were deleted. */
  readonly #versions: number[] = []

  constructor(luck: Dice, order: NightlyOrder, size: number) {
    this.#luck = luck
    this.order = order
    this.shift = luck.next() ** 3 * 0.6
    for (let made = 0; made < size; made += 1) this.#insert()
  }

  get size(): number {
    return this.customers.length
  }

  versionOf(rowId: number): number {
    return this.#versions[rowId] ?? 1
  }

  /** A day between two nights. */
  passDay(): void {
    const luck = this.#luck
    const few = (most: number) => luck.below(luck.chance(0.3) ? 1 : most)
    for (let times = few(12); times > 0; times -= 1) this.stir({ insert: 1, delete: 0, change: 0, shift: 0 })
    for (let times = few(12); times > 0; times -= 1) this.stir({ insert: 0, delete: 1, change: 0, shift: 0 })
    for (let times = luck.chance(0.6) ? 8 + luck.below(40) : 0; times > 0; times -= 1)
      this.stir({ insert: 0, delete: 0, change: 1, shift: 0 })
    for (let answer = 0; answer < ANSWERS_A_DAY; answer += 1)
      this.stir({ insert: 0, delete: 0, change: 0, shift: this.shift })
    // A service may touch the same customers every night, in the same order.
    if (luck.chance(0.2)) for (const customer of this.customers.slice(-12)) this.#change(customer)
  }

  stir({ insert, delete: remove, change, shift }: Churn): void {
    const luck = this.#luck
    this.tick += 1
    if (luck.chance(insert)) this.#insert()
    if (luck.chance(remove) && this.size > 1) this.customers.splice(luck.below(this.size), 1)
    const [changed, shifted] = [luck.below(this.size), luck.below(this.size)].map((at) => this.customers[at])
    if (changed !== undefined && luck.chance(change)) this.#change(changed)
    if (shifted !== undefined && luck.chance(shift) && this.#isShifting) this.#move(shifted, luck.next())
  }

  answer({ page, size }: Window): WindowAnswer {
    const from = size * (page - 1)
    const rows = this.customers.slice(from, from + size).map(({ rowId }) => ({
      id: idOf(rowId),
      createdAt: CREATED[(rowId * 7919) % CREATED.length],
      rowId,
    }))
    return { window: { page, size }, rows, total: this.size, perPage: size, beyondEnd: false }
  }

  get #isShifting(): boolean {
    return this.order === 'balance' || (this.order === 'balance from the third night' && this.night >= 3)
  }

  #insert(): void {
    this.#made += 1
    const isByChange = this.order.startsWith('last change')
    const key = isByChange ? this.#keyOfChange() : this.#luck.next()
    this.#place({ rowId: this.#made, key, bornAt: this.tick, movedAt: 0 })
  }

  #change(customer: Customer): void {
    this.#versions[customer.rowId] = this.versionOf(customer.rowId) + 1
    if (this.order.startsWith('last change')) this.#move(customer, this.#keyOfChange())
    else if (this.order === 'name' && this.#luck.chance(0.5)) this.#move(customer, this.#luck.next())
  }

  #keyOfChange(): number {
    this.tick += 1
    return this.order === 'last change desc' ? -this.tick : this.tick
  }

  #move(customer: Customer, key: number): void {
    this.customers.splice(this.customers.indexOf(customer), 1)
    customer.key = key
    customer.movedAt = this.tick
    this.#place(customer)
  }

  #place(customer: Customer): void {
    let [from, to] = [0, this.size]
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((this.customers[middle]?.key ?? 0) <= customer.key) from = middle + 1
      else to = middle
    }
    this.customers.splice(from, 0, customer)
  }
}

/** What the mirror keeps from one night to the next. */
class Memory {
  facts: OrderFacts = {}
  #rowIds: number[] = []
  readonly #stored = new Map<number, number>()
  #written = new Set<number>()

  tonight(): RememberedList {
    const rowIds = this.#rowIds
    const places = new Map(rowIds.map((rowId, place) => [rowId, place]))
    this.#written = new Set()
    const written = this.#written
    return { rowIds, placeOf: (rowId) => places.get(rowId) ?? -1, isChanged: (rowId) => written.has(rowId) }
  }

  save(answer: WindowAnswer, list: NightlyList): WindowAnswer {
    for (const { rowId = 0 } of answer.rows.map(rowOf)) {
      const [before, version] = [this.#stored.get(rowId), list.versionOf(rowId)]
      if (before !== undefined && before !== version) this.#written.add(rowId)
      this.#stored.set(rowId, version)
    }
    return answer
  }

  remember(reads: readonly WindowAnswer[], facts: OrderFacts): void {
    const windows = new Map(reads.map((read) => [`${read.window.page}/${read.window.size}`, read]))
    const inOrder = [...windows.values()].toSorted((one, other) => startOf(one.window) - startOf(other.window))
    this.#rowIds = [...new Set(inOrder.flatMap(({ rows }) => rows.map((row) => rowOf(row).rowId ?? 0)))]
    this.facts = facts
  }
}

function idOf(rowId: number): string {
  return (Math.imul(rowId, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')
}

/** Creation times in no order. */
const CREATED = Array.from({ length: 997 }, (_, at) =>
  new Date(1_700_000_000_000 + ((at * 613) % 997) * 60_000).toISOString(),
)
