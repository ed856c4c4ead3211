import { expect, test } from 'vitest'
import { removingProof } from '../../src/model/report.ts'
import type { Absent } from '../../src/model/run.ts'
import { ListScan } from '../../src/scan/list-scan.ts'
import type { Certificate, Scan } from '../../src/scan/scan.ts'
import { startOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { decideAbsences } from '../../src/store/absent/removal-rule.ts'
import { dice as diceOf, type Dice } from '../support/dice.ts'
import { drive, type Service } from '../support/drive-scan.ts'
import { seeds } from '../support/seeds.ts'

/** Histories of each order, three nights each: all of them in a deep run. */
const HISTORIES = seeds(20_000, { every: 2000 })
/** The requests of a scan: three plain readings, and some for what a short list needs as well. */
const SOME_MORE = 40

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

type Order = keyof typeof ORDERS
const NAMES = Object.keys(ORDERS).filter((name): name is Order => Object.hasOwn(ORDERS, name))

test.each(NAMES)(
  '%s: no night is proven or settled against its definition, none removes a listed customer, and none asks for too much',
  (order) => {
    const grades = new Map<string, number>()
    let [requests, plain] = [0, 0]
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      for (const [index, night] of playNights(order, seed).entries()) {
        const { proof } = night.certificate
        grades.set(proof, (grades.get(proof) ?? 0) + 1)
        requests += night.requests
        plain += night.plain
        const of = { seed, night: index + 1, proof }
        // The list may have grown since, and a reading that was killed begins anew.
        const isTooDear = night.requests > 2 * (3 * night.plain + SOME_MORE)
        const found = { against: night.against, wronglyRemoved: night.wronglyRemoved, isTooDear }
        expect({ ...of, ...found }).toEqual({ ...of, against: [], wronglyRemoved: [], isTooDear: false })
      }
    }
    const said = [...grades].map(([grade, count]) => `${grade} ${count}`).join(', ')
    console.log(`${order}: ${HISTORIES} histories: ${said}; ${(requests / plain).toFixed(2)} times the plain requests`)
  },
  // On a busy machine the whole of one order took twelve minutes.
  3_600_000,
)

class NightlyList {
  readonly rows: Customer[] = []
  moment = 1
  #made = 0
  readonly #order: Order
  readonly #dice: Dice
  readonly #imported: number

  constructor(dice: Dice, order: Order, size: number) {
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
    const [changedAt, name] = [moment + this.#dice.next(), this.#dice.next()]
    return { rowId, id, second: this.#secondOf(rowId), name, changedAt, placedAt: moment, bornAt: moment }
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

  /** So many customers come, leave and change, on average, in an eighth of the time or all of it. */
  stir({ come, leave, change }: Churn, share = 1): void {
    for (let left = this.#times(come * share); left > 0; left -= 1) {
      this.moment += 1
      this.#place(this.#make())
    }
    for (let left = this.#times(leave * share); left > 0; left -= 1) {
      this.moment += 1
      this.rows.splice(this.#dice.below(this.rows.length), 1)
    }
    for (let left = this.#times(change * share); left > 0; left -= 1) this.#change()
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
    const listed = this.#shown(window).slice(start, start + window.size)
    const rows = listed.map(({ id, rowId, second }) => ({ id, rowId, createdAt: timeOf(second) }))
    return { window, rows, total: this.rows.length, perPage: window.size, beyondEnd: false }
  }

  /** The customers who moved, or left. */
  movedSince(moment: number): Set<number> {
    const inPlace = new Set(this.rows.filter(({ placedAt }) => placedAt <= moment).map(({ rowId }) => rowId))
    return new Set(Array.from({ length: this.#made }, (_, index) => index + 1).filter((rowId) => !inPlace.has(rowId)))
  }

  #shown({ page, size }: Window): Customer[] {
    if (this.#order === 'shuffled') return this.#inOrderOf(() => this.#dice.next())
    if (this.#order !== 'created desc, unstable ties') return this.rows
    // As a database sorts by what is not unique, with LIMIT and OFFSET.
    const salt = Math.imul(size, 7919) ^ Math.imul(page, 104_729)
    return this.#inOrderOf(({ rowId, second }) => -second + scattered(rowId ^ salt) / 100)
  }

  #inOrderOf(valueOf: (customer: Customer) => number): Customer[] {
    const valued = this.rows.map((customer) => ({ customer, value: valueOf(customer) }))
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

/** Three nights with a list that a number decides: it changes between them and while it is read, some readings are killed and continued. */
function playNights(order: Order, seed: number) {
  const plan = planOf(seed)
  const dice = diceOf(seed)
  const list = new NightlyList(dice, order, plan.size)
  const known = new Map<number, Absent>()
  return [1, 2, 3].map((night) => {
    if (night > 1) list.stir(plan.day)
    const [since, before] = [list.moment, list.rows.length]
    const { scan, cuts, requests } = read(list, plan, dice)
    const seen = new Set(cuts.flatMap(({ ids }) => [...ids]))
    const certificate = scan.certificate()
    const lost = list.rows.filter(({ bornAt, rowId }) => bornAt <= since && !seen.has(rowId)).map(({ rowId }) => rowId)
    const inPlace = order === 'shuffled' ? () => [] : () => againstSettled(lost, cuts, list.movedSince(since))
    return {
      ...{ certificate, requests },
      plain: Math.max(1, Math.ceil(Math.max(before, list.rows.length) / certificate.pageSize)),
      against: certificate.proof === 'proven' ? lost : certificate.proof === 'settled' ? inPlace() : [],
      wronglyRemoved: removeAbsent(known, seen, { certificate, list, search: plan.search }),
    }
  })
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
  /** How often a window is not answered with its rows. */
  faulty: number
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
    faulty: dice.chance(0.1) ? 0.2 * dice.next() : 0,
  }
}

/** One answer: the customers on the page, and the whole list in the order from which it was cut. */
type Cut = { start: number; served: readonly number[]; ids: ReadonlySet<number>; list: readonly number[] }

function read(list: NightlyList, plan: Plan, dice: Dice): { scan: Scan; cuts: readonly Cut[]; requests: number } {
  const cuts = new Map<WindowAnswer, Cut>()
  const service: Service = {
    answer(window) {
      list.stir(plan.churn)
      if (dice.chance(plan.faulty)) return dice.pick(['hole', 'cached-answer'])
      const answer = list.answer(window)
      const served = answer.rows.flatMap(({ rowId }) => rowId ?? [])
      const all = list.rows.map(({ rowId }) => rowId)
      cuts.set(answer, { start: startOf(window), served, ids: new Set(served), list: all })
      return answer
    },
  }
  const { pageSize, parallel } = plan
  const stopAfter = dice.chance(plan.killed) ? 1 + dice.below(Math.ceil(plan.size / pageSize)) : Infinity
  let scan = new ListScan({ pageSize })
  const rides = [drive(scan, service, { dice, parallel, stopAfter })]
  if (!scan.done) {
    list.stir(plan.day, 1 / 8)
    const reads = rides.flatMap((ride) => ride.reads)
    const recalled = reads.toSorted((one, other) => startOf(one.window) - startOf(other.window))
    scan = new ListScan({ pageSize, recalled })
    rides.push(drive(scan, service, { dice, parallel }))
  }
  return {
    scan,
    cuts: rides.flatMap(({ reads }) => reads.flatMap((answer) => cuts.get(answer) ?? [])),
    requests: rides.reduce((sum, ride) => sum + ride.requests, 0),
  }
}

/**
 * What a settled reading must not have: no chain of pages from the first row to the last in which neighbours share two customers or
 * more, in the same order; or a customer unread who was listed throughout and kept their place, unless it stood between two pages
 * whose shared customers all moved.
 */
function againstSettled(lost: readonly number[], cuts: readonly Cut[], moved: ReadonlySet<number>): unknown[] {
  const isLoose = (shared: ReadonlySet<number>) => shared.size >= 2 && shared.isSubsetOf(moved)
  const unchained = hasChain(cuts) ? [] : ['no chain of pages that share two customers']
  const inPlace = lost.filter((rowId) => {
    const before = cuts.filter(({ list, start, served }) => list.indexOf(rowId) >= start + served.length)
    const behind = cuts.filter(({ list, start }) => list.indexOf(rowId) < start)
    const isBetweenMoved = (left: Cut) => behind.some((right) => isLoose(left.ids.intersection(right.ids)))
    return !moved.has(rowId) && !before.some(isBetweenMoved)
  })
  return [...unchained, ...inPlace]
}

function hasChain(cuts: readonly Cut[]): boolean {
  const reached = cuts.filter(({ start }) => start === 0)
  const left = new Set(cuts.filter(({ start }) => start > 0))
  for (const from of reached) {
    if (from.start + from.served.length >= from.list.length) return true
    for (const to of left) {
      if (!areLinked(from, to)) continue
      left.delete(to)
      reached.push(to)
    }
  }
  return false
}

function areLinked(one: Cut, other: Cut): boolean {
  const shared = one.ids.intersection(other.ids)
  const inOrder = (cut: Cut): string => cut.served.filter((rowId) => shared.has(rowId)).join()
  return shared.size >= 2 && inOrder(one) === inOrder(other)
}

/** Decides by the rule of the store about absent customers; a search finds those that are listed. Returns the listed ones that were removed. */
function removeAbsent(
  known: Map<number, Absent>,
  seen: ReadonlySet<number>,
  { certificate, list, search }: { certificate: Certificate; list: NightlyList; search: boolean },
): number[] {
  const proof = certificate.stoppedAt === undefined ? removingProof(certificate) : undefined
  const listed = new Set(list.rows.map(({ rowId }) => rowId))
  const absent = [...known.values()].filter(({ rowId }) => !seen.has(rowId))
  const idsOf = (rows: readonly Absent[]) => new Set(rows.map(({ id }) => id))
  const found = search ? idsOf(absent.filter(({ rowId }) => listed.has(rowId))) : undefined
  const confirmed = search ? idsOf(absent.filter(({ rowId }) => !listed.has(rowId))) : new Set<string>()
  const rule = { after: 2, maxShare: 1 }
  const evidence = { absent, unjudged: new Set<number>(), rule, searched: { confirmed, found }, isTooMuch: false }
  const missing = proof === undefined || absent.length === 0 ? [] : decideAbsences({ ...evidence, proof }).missing
  for (const { row, isRemoved } of missing) {
    row.missingWhole += 1
    if (proof !== 'whole') row.missingScans += 1
    if (proof === 'proven') row.missingProven += 1
    if (isRemoved) known.delete(row.rowId)
  }
  for (const rowId of seen) known.set(rowId, anAbsent(rowId))
  return missing.filter(({ row, isRemoved }) => isRemoved && listed.has(row.rowId)).map(({ row }) => row.rowId)
}

function anAbsent(rowId: number): Absent {
  const unsaid = { name: null, username: null, email: null, createdAtUtc: null }
  return { rowId, id: String(rowId), ...unsaid, missingProven: 0, missingScans: 0, missingWhole: 0 }
}
