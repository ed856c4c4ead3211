import { listScan } from '../../src/scan/list-scan.ts'
import type { Certificate, Scan } from '../../src/scan/scan.ts'
import { startOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { dice as diceOf, type Dice } from './dice.ts'
import { againstSettled, type Cut } from './oracle-of-grades.ts'

/** A customer of the list: `placedAt` and `bornAt` are the moments when it moved last, and when it came. */
type Customer = {
  readonly rowId: number
  readonly id: string
  readonly second: number
  name: number
  changedAt: number
  placedAt: number
  readonly bornAt: number
}

type Compare = (one: Customer, other: Customer) => number

const hiddenly: Compare = (one, other) => one.rowId - other.rowId
const byTime: Compare = (one, other) => one.second - other.second || hiddenly(one, other)

/** How a service sorts: by what never changes, by what does, and in ties or altogether in another order at each request. */
const ORDERS = {
  'id asc': (one, other) => (one.id < other.id ? -1 : 1),
  'created asc': byTime,
  'created desc': (one, other) => byTime(other, one),
  'created desc, unstable ties': (one, other) => byTime(other, one),
  'hidden asc': hiddenly,
  'hidden desc': (one, other) => hiddenly(other, one),
  'hidden asc, old dates': hiddenly,
  'created desc, import': (one, other) => byTime(other, one),
  name: (one, other) => one.name - other.name,
  'last change first': (one, other) => other.changedAt - one.changedAt,
  'last change last': (one, other) => one.changedAt - other.changedAt,
  shuffled: hiddenly,
} satisfies Record<string, Compare>

export type NightlyOrder = keyof typeof ORDERS

export const NIGHTLY_ORDERS: readonly NightlyOrder[] = Object.keys(ORDERS).filter(isOrder)

function isOrder(name: string): name is NightlyOrder {
  return Object.hasOwn(ORDERS, name)
}

class NightlyList {
  readonly rows: Customer[] = []
  moment = 1
  #made = 0
  readonly #order: NightlyOrder
  readonly #dice: Dice
  readonly #imported: number

  constructor(dice: Dice, order: NightlyOrder, size: number) {
    this.#dice = dice
    this.#order = order
    this.#imported = Math.floor(size * 0.3)
    for (let made = 0; made < size; made += 1) this.rows.push(this.#make())
    this.rows.sort(ORDERS[order])
    this.moment = 2
  }

  #make(): Customer {
    const rowId = (this.#made += 1)
    const hex = (value: number) => value.toString(16).padStart(8, '0')
    const id = `${hex(this.#dice.below(2 ** 32))}${hex(rowId)}`
    const { moment } = this
    const changedAt = moment + this.#dice.next()
    return {
      rowId,
      id,
      second: this.#secondOf(rowId),
      name: this.#dice.next(),
      changedAt,
      placedAt: moment,
      bornAt: moment,
    }
  }

  #secondOf(rowId: number): number {
    if (this.#order === 'created desc, unstable ties') return Math.floor(rowId / 4) * 60
    if (this.#order === 'created desc, import' && rowId <= this.#imported) return 1000
    if (this.#order === 'hidden asc, old dates' && rowId <= 2 * this.#imported) return this.#dice.below(1e6)
    return rowId * 40 + this.#dice.below(80)
  }

  #place(customer: Customer): number {
    let [from, to] = [0, this.rows.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      const other = this.rows[middle]
      if (other !== undefined && ORDERS[this.#order](other, customer) <= 0) from = middle + 1
      else to = middle
    }
    this.rows.splice(from, 0, customer)
    return from
  }

  /** So many customers come, leave and change, on average. */
  stir({ come, leave, change }: Churn): void {
    for (let left = this.#times(come); left > 0; left -= 1) {
      this.moment += 1
      this.#place(this.#make())
    }
    for (let left = this.#times(leave); left > 0; left -= 1) {
      this.moment += 1
      this.rows.splice(this.#dice.below(this.rows.length), 1)
    }
    for (let left = this.#times(change); left > 0; left -= 1) this.#change()
  }

  #change(): void {
    const at = this.#dice.below(this.rows.length)
    const [customer] = this.rows.splice(at, 1)
    if (customer === undefined) return
    this.moment += 1
    customer.changedAt = this.moment
    customer.name = this.#dice.next()
    if (this.#place(customer) !== at) customer.placedAt = this.moment
  }

  #times(average: number): number {
    return Math.floor(average) + (this.#dice.chance(average % 1) ? 1 : 0)
  }

  answer(window: Window): WindowAnswer {
    const start = startOf(window)
    const listed = this.#shown(start, start + window.size, window)
    const rows = listed.map(({ id, rowId, second }) => ({ id, rowId, createdAt: timeOf(second) }))
    return { window, rows, total: this.rows.length, perPage: window.size, beyondEnd: false }
  }

  /** What the oracle needs to know of an answer: the whole list as it stands now. */
  cut({ window, rows }: WindowAnswer): Cut {
    const served = rows.flatMap(({ rowId }) => rowId ?? [])
    return { start: startOf(window), size: window.size, served, list: this.rows.map(({ rowId }) => rowId) }
  }

  /** The customers who moved, or left. */
  movedSince(moment: number): Set<number> {
    const inPlace = new Set(this.rows.filter(({ placedAt }) => placedAt <= moment).map(({ rowId }) => rowId))
    return new Set(Array.from({ length: this.#made }, (_, index) => index + 1).filter((rowId) => !inPlace.has(rowId)))
  }

  #shown(start: number, end: number, { page, size }: Window): Customer[] {
    if (this.#order === 'shuffled') return this.#inOrderOf(this.rows, () => this.#dice.next()).slice(start, end)
    if (this.#order !== 'created desc, unstable ties') return this.rows.slice(start, end)
    // As a database sorts by what is not unique, with LIMIT and OFFSET.
    const salt = Math.imul(size, 7919) ^ Math.imul(page, 104_729)
    const inTies = this.#inOrderOf(this.rows, ({ rowId, second }) => -second + scattered(rowId ^ salt) / 100)
    return inTies.slice(start, end)
  }

  #inOrderOf(rows: readonly Customer[], valueOf: (customer: Customer) => number): Customer[] {
    const valued = rows.map((customer) => ({ customer, value: valueOf(customer) }))
    return valued.toSorted((one, other) => one.value - other.value).map(({ customer }) => customer)
  }
}

/** From 0 up to 1. */
function scattered(number: number): number {
  const mixed = Math.imul(number ^ (number >>> 15), 0x9e_37_79_b1)
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32
}

const TIMES = new Map<number, string>()

function timeOf(second: number): string {
  const known = TIMES.get(second) ?? new Date(1_600_000_000_000 + second * 1000).toISOString()
  TIMES.set(second, known)
  return known
}

/** How many customers come, leave and change. */
type Churn = { readonly come: number; readonly leave: number; readonly change: number }

export type SimulatedNight = {
  readonly certificate: Certificate
  readonly requests: number
  /** The requests of a plain reading. */
  readonly plain: number
  /** Listed throughout, and on no page. */
  readonly lost: number
  /** What a settled reading must not have: those of them who kept their places, and stood between no two pages that share only customers who moved. */
  readonly againstSettled: readonly string[]
  /** Removed by the rules, although listed. */
  readonly wronglyRemoved: number
}

/** How often a customer was absent since it was seen last. */
type Absences = { proven: number; graded: number; whole: number }

/** Three nights with a list that a number decides: it changes between them and while it is read, some readings are killed and continued. */
export function playNights(order: NightlyOrder, seed: number): SimulatedNight[] {
  const plan = planOf(seed)
  const dice = diceOf(seed)
  const list = new NightlyList(dice, order, plan.size)
  const known = new Map<number, Absences>()
  const nights: SimulatedNight[] = []
  for (let night = 1; night <= 3; night += 1) {
    if (night > 1) list.stir(plan.day)
    const since = list.moment
    const before = new Set(list.rows.map(({ rowId }) => rowId))
    const { scan, answers, cuts, requests } = read(list, plan, dice)
    const seen = new Set(answers.flatMap(({ rows }) => rows.flatMap(({ rowId }) => rowId ?? [])))
    const lost = list.rows.filter(({ rowId, bornAt }) => bornAt <= since && before.has(rowId) && !seen.has(rowId))
    const certificate = scan.certificate()
    nights.push({
      certificate,
      requests,
      plain: Math.max(1, Math.ceil(Math.max(before.size, list.rows.length) / plan.pageSize)),
      lost: lost.length,
      againstSettled:
        lost.length === 0 || order === 'shuffled'
          ? []
          : againstSettled({ cuts, lived: lost.map(({ rowId }) => rowId), moved: list.movedSince(since) }),
      wronglyRemoved: judge(known, seen, { certificate, list, search: plan.search }),
    })
  }
  return nights
}

type Plan = {
  size: number
  pageSize: number
  parallel: number
  /** Between two answers, and between two nights. */
  churn: Churn
  day: Churn
  search: boolean
  killed: number
}

function planOf(seed: number): Plan {
  const dice = diceOf(seed ^ 0x51_ed_27)
  const level = dice.pick([0, 0.02, 0.1, 0.4, 1, 3])
  const some = () => (dice.chance(0.65) ? level * dice.next() * 1.5 : 0)
  const pageSize = dice.pick([20, 25, 40, 100, 100])
  return {
    pageSize,
    size: Math.floor(pageSize * (0.3 + dice.next() * 12)),
    parallel: dice.pick([1, 4, 4, 4, 8]),
    churn: { come: some(), leave: some(), change: some() },
    day: { come: dice.below(8), leave: dice.below(8), change: dice.below(40) },
    search: dice.chance(0.5),
    killed: dice.chance(0.2) ? 0.5 : 0,
  }
}

type Reading = { scan: Scan; answers: readonly WindowAnswer[]; cuts: readonly Cut[]; requests: number }

function read(list: NightlyList, plan: Plan, dice: Dice): Reading {
  const killAfter = dice.chance(plan.killed) ? 1 + dice.below(Math.ceil(plan.size / plan.pageSize)) : Infinity
  const answers: WindowAnswer[] = []
  const cuts: Cut[] = []
  let requests = 0
  let scan = listScan({ pageSize: plan.pageSize })
  const drive = (most: number) => {
    const underWay: { window: Window; answer?: WindowAnswer; cut?: Cut }[] = []
    while (!scan.done && answers.length < most) {
      const windows = scan.next(plan.parallel - underWay.length)
      requests += windows.length
      underWay.push(...windows.map((window) => ({ window })))
      if (scan.done) return
      const at = dice.below(underWay.length)
      const request = underWay[at]
      if (request === undefined) throw new Error('The scan is not done, nothing is under way, and it asks for nothing.')
      if (request.answer === undefined) {
        list.stir(plan.churn)
        request.answer = list.answer(request.window)
        request.cut = list.cut(request.answer)
        // It was cut from the list now, and arrives after others.
        if (plan.parallel > 1 && dice.chance(0.5)) continue
      }
      underWay.splice(at, 1)
      answers.push(request.answer)
      if (request.cut !== undefined) cuts.push(request.cut)
      scan.read(request.answer)
    }
  }
  drive(killAfter)
  if (!scan.done) {
    list.stir({ come: plan.day.come / 8, leave: plan.day.leave / 8, change: plan.day.change / 8 })
    const recalled = answers.toSorted((one, other) => startOf(one.window) - startOf(other.window))
    scan = listScan({ pageSize: plan.pageSize, recalled })
    drive(Infinity)
  }
  return { scan, answers, cuts, requests }
}

/**
 * Counts the absences of the customers known, and removes them by the rules: two proven ones, or two proven or settled ones, or three of a list
 * that was read whole, that a search confirms. A search finds each customer who is listed. Returns how many were removed although they are listed.
 */
function judge(
  known: Map<number, Absences>,
  seen: ReadonlySet<number>,
  { certificate, list, search }: { certificate: Certificate; list: NightlyList; search: boolean },
): number {
  const { proof, isWhole, stoppedAt } = certificate
  const listed = new Set(list.rows.map(({ rowId }) => rowId))
  let wrong = 0
  for (const [rowId, absences] of known) {
    if (seen.has(rowId) || stoppedAt !== undefined) continue
    if (proof !== 'unproven' || isWhole) absences.whole += 1
    if (proof !== 'unproven') absences.graded += 1
    if (proof === 'proven') absences.proven += 1
    const isConfirmed = search && !listed.has(rowId)
    const isDue = isConfirmed && (absences.graded >= 2 || absences.whole >= 3)
    const isFound = search && listed.has(rowId)
    if (isFound || !(isDue || (proof === 'proven' && absences.proven >= 2))) continue
    known.delete(rowId)
    if (listed.has(rowId)) wrong += 1
  }
  for (const rowId of seen) known.set(rowId, { proven: 0, graded: 0, whole: 0 })
  return wrong
}
