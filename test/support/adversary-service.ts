import { orderOfRows } from '../../src/scan/row-order.ts'
import { startOf, type Row, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { type AdversaryList, type OrderName, type Person } from './adversary-list.ts'
import type { Dice } from './dice.ts'
import type { Service } from './drive-scan.ts'

export type Answer = ReturnType<Service['answer']>

/** One answer, with the whole list that it was cut from: the rows from `start` up to `end` were asked for. */
export type Cut = { start: number; end: number; served: ReadonlySet<number>; shown: readonly Person[] }

/** How often each change happens before an answer; `bulk` is how often many happen at once. */
export type Rates = { insert: number; delete: number; edit: number; bulk: number }

/** How often an answer is wrong, and in which way; `sizes` are the only page sizes that are served. */
export type Fault = {
  short: number
  cached: number
  hole: number
  twice: number
  totalOff: number
  sizes: readonly number[] | undefined
}

/**
 * What a service that knows the scan does to it: it moves unread customers to where was read (`pulls`), and others to their places, so that no
 * position shifts (`swaps`); it deletes rows before a window, and moves the shared ones to where they stood (`holds seams`); it changes
 * customers in their places for three nights, and then moves one (`forges`).
 */
export const HABITS = ['honest', 'swaps', 'pulls', 'holds seams', 'forges'] as const
export type Habit = (typeof HABITS)[number]

export type Behaviour = {
  rates: Rates
  fault: Fault
  habit: Habit
  /** From this answer on the list has another order. */
  turnAt?: { answer: number; order: OrderName } | undefined
  night: number
}

/** Answers the requests of one night. */
export class AdversaryService {
  readonly #list: AdversaryList
  readonly #dice: Dice
  readonly #behaviour: Behaviour
  readonly cuts = new Map<WindowAnswer, Cut>()
  #answers = 0

  constructor(list: AdversaryList, dice: Dice, behaviour: Behaviour) {
    this.#list = list
    this.#dice = dice
    this.#behaviour = behaviour
  }

  get hasTurned(): boolean {
    const { turnAt } = this.#behaviour
    return turnAt !== undefined && this.#answers >= turnAt.answer
  }

  answer(window: Window): Answer {
    const { fault, turnAt } = this.#behaviour
    this.#answers += 1
    this.stir()
    if (turnAt?.answer === this.#answers) this.#list.reorder(turnAt.order)
    this.#attack(window)
    if (this.#dice.chance(fault.cached)) return 'cached-answer'
    if (this.#dice.chance(fault.hole)) return 'hole'
    const isServed = fault.sizes === undefined || fault.sizes.includes(window.size)
    if (!isServed && this.#dice.chance(0.5)) return 'size-refused'
    const size = isServed ? window.size : (fault.sizes?.findLast((fixed) => fixed <= window.size) ?? 10)
    return this.#cut(window, size)
  }

  #cut(window: Window, perPage: number): WindowAnswer {
    const { fault } = this.#behaviour
    const shown = this.#list.shown()
    const start = perPage * (window.page - 1)
    let people = shown.slice(start, start + perPage)
    if (this.#dice.chance(fault.short)) people = people.slice(0, this.#dice.below(people.length + 1))
    const [first] = people
    if (first !== undefined && this.#dice.chance(fault.twice)) people[this.#dice.below(people.length)] = first
    const total = Math.max(0, shown.length + fault.totalOff)
    const rows = briefly(
      people.map((person) => this.#rowOf(person)),
      this.#dice,
    )
    const answer: WindowAnswer = { window, perPage, total, beyondEnd: false, ...rows }
    const served = new Set(people.filter(({ hasId }) => hasId).map(({ serial }) => serial))
    this.cuts.set(answer, { start, end: start + perPage, served, shown })
    return answer
  }

  #rowOf({ serial, id, createdAt, hasId }: Person): Row {
    if (!hasId) return { id: undefined, createdAt }
    return { id, createdAt, rowId: serial }
  }

  /** What happens between two answers. */
  stir(): void {
    const { rates } = this.#behaviour
    const times = (rate: number): number => Math.floor(rate) + (this.#dice.chance(rate % 1) ? 1 : 0)
    const many = this.#dice.chance(rates.bulk) ? 5 + this.#dice.below(100) : 0
    const kind = this.#dice.below(3)
    for (let left = times(rates.insert) + (kind === 0 ? many : 0); left > 0; left -= 1) this.#list.insert()
    for (let left = times(rates.delete) + (kind === 1 ? many : 0); left > 0; left -= 1) this.#list.delete()
    for (let left = times(rates.edit) + (kind === 2 ? many : 0); left > 0; left -= 1) this.#list.edit()
  }

  /** Changes the list with respect to what was read. */
  #attack(window: Window): void {
    const { habit, night } = this.#behaviour
    if (habit === 'honest' || this.#dice.chance(0.5)) return
    if (habit === 'holds seams') return this.#holdSeam(startOf(window))
    if (habit === 'forges' && night < 4) return this.#editInPlace()
    const shown = this.#list.shown()
    const reach = Math.max(0, ...[...this.cuts.values()].slice(-8).map(({ end }) => end))
    const unread = shown[reach + this.#dice.below(Math.max(1, shown.length - reach))]
    const read = shown[this.#dice.below(Math.max(1, reach))]
    if (unread === undefined || read === undefined || unread === read) return
    const before = shown[shown.indexOf(unread) - 1]
    this.#list.place(unread, read)
    if (habit === 'swaps') this.#list.place(read, before === read ? undefined : before)
  }

  #editInPlace(): void {
    for (let left = 3; left > 0; left -= 1) {
      const person = this.#list.some()
      if (person !== undefined) person.edition += 1
    }
  }

  /** Deletes rows before the window, and shows the last two rows of the one before it as its first. */
  #holdSeam(start: number): void {
    const left = [...this.cuts.values()].findLast((cut) => cut.start < start && cut.end > start)
    if (left === undefined) return
    const isShared = ({ serial }: Person): boolean => left.served.has(serial)
    const lastTwo = this.#list.shown().filter(isShared).slice(-2)
    for (let gone = this.#dice.below(8); gone > 0; gone -= 1) {
      const person = this.#list.shown()[this.#dice.below(Math.max(1, left.start + 3))]
      if (person !== undefined && !lastTwo.includes(person)) this.#list.delete(person)
    }
    let behind = this.#list.shown()[start + 1]
    for (const person of lastTwo) {
      if (behind === undefined || behind === person) return
      this.#list.place(person, behind)
      behind = person
    }
  }
}

/** Often known rows come as numbers, except for the first and the last of a page. */
function briefly(rows: readonly Row[], dice: Dice): Pick<WindowAnswer, 'rows' | 'rowOrder'> {
  if (rows.some(({ id }) => id === undefined) || dice.chance(0.5)) return { rows: [...rows] }
  const brief = rows.map((row, place) => {
    const isInside = place > 0 && place < rows.length - 1
    return isInside && row.rowId !== undefined ? { ...row, id: undefined, createdAt: undefined } : row
  })
  return { rows: brief, rowOrder: orderOfRows(rows) }
}
