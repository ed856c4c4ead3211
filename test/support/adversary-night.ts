import { listScan } from '../../src/scan/list-scan.ts'
import type { Certificate, Scan } from '../../src/scan/scan.ts'
import { startOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { type AdversaryList, isSteady, type OrderName, type Person } from './adversary-list.ts'
import { AdversaryService, type Answer, type Behaviour, type Cut } from './adversary-service.ts'
import type { Dice } from './dice.ts'

export type AdversaryNight = {
  night: number
  certificate: Certificate
  requests: number
  /** The requests that a loop over the pages makes. */
  plain: number
  /** What no scan may do. */
  faults: readonly string[]
  /** Customers who were listed throughout and are on no page. */
  lost: readonly number[]
  /** The same, who kept their places, and stood between no two pages that share only customers who moved. */
  lostInPlace: readonly number[]
  /** The list was ordered by what never changes. */
  isSteady: boolean
}

export type NightPlan = {
  dice: Dice
  list: AdversaryList
  pageSize: number
  parallel: number
  behaviour: Behaviour
  /** The scan is stopped after so many answers, and continued. */
  stopAfter: number | undefined
}

/** Requests that a scan may make beyond three plain readings. */
const SOME_MORE = 60

/** A scan that takes more steps does not end. */
const MOST_STEPS = 60_000

/** Reads the list once, with all that is remembered of it, and judges the certificate by what truly happened. */
export class Tonight {
  readonly #plan: NightPlan
  readonly #service: AdversaryService
  readonly #orders: Set<OrderName>
  readonly #since: number
  readonly #reads: WindowAnswer[] = []
  readonly #faults: string[] = []
  #requests = 0

  constructor(plan: NightPlan) {
    this.#plan = plan
    this.#orders = new Set([plan.list.order])
    this.#since = plan.list.moment
    this.#service = new AdversaryService(plan.list, plan.dice, plan.behaviour)
  }

  play(): AdversaryNight {
    const { list, pageSize, behaviour } = this.#plan
    let scan = this.#scan([])
    if (this.#plan.stopAfter !== undefined) {
      this.#drive(scan, this.#plan.stopAfter)
      if (!scan.done) scan = this.#continue(scan)
    }
    const before = this.#requests
    this.#drive(scan, Infinity)
    const plain = Math.ceil(list.people.length / pageSize)
    if (this.#requests - before > 3 * plain + SOME_MORE) this.#faults.push('more requests than its budget')
    this.#orders.add(list.order)
    const certificate = scan.certificate()
    const lost = this.#lost()
    const lostInPlace = this.#service.hasTurned ? [] : lost.filter((person) => this.#isLostInPlace(person, certificate))
    return {
      night: behaviour.night,
      certificate,
      requests: this.#requests,
      plain: Math.max(1, Math.ceil(list.people.length / pageSize)),
      faults: this.#faults,
      lost: lost.map(({ serial }) => serial),
      lostInPlace: lostInPlace.map(({ serial }) => serial),
      isSteady: this.#orders.size === 1 && [...this.#orders].every(isSteady),
    }
  }

  #scan(recalled: readonly WindowAnswer[]): Scan {
    return listScan({ pageSize: this.#plan.pageSize, recalled })
  }

  #continue(stopped: Scan): Scan {
    if (stopped.certificate().proof !== 'unproven') this.#faults.push('an unfinished scan is certified')
    for (let left = this.#plan.dice.below(20); left > 0; left -= 1) this.#service.stir()
    return this.#scan(this.#readsInOrder())
  }

  #drive(scan: Scan, most: number): void {
    const { dice, parallel } = this.#plan
    const underWay: { window: Window; answer?: Answer }[] = []
    let [steps, answers] = [0, 0]
    while (!scan.done && answers < most) {
      const asked = scan.next(parallel - underWay.length)
      this.#requests += asked.length
      underWay.push(...asked.map((window) => ({ window })))
      if (scan.done) return
      const at = dice.below(underWay.length)
      const request = underWay[at]
      steps += 1
      if (request === undefined || steps > MOST_STEPS) return void this.#faults.push('the scan does not end')
      request.answer ??= this.#service.answer(request.window)
      if (parallel > 1 && dice.chance(0.5)) continue
      underWay.splice(at, 1)
      answers += 1
      this.#deliver(scan, request.window, request.answer)
    }
  }

  #deliver(scan: Scan, window: Window, answer: Answer): void {
    if (typeof answer === 'string') return scan.failed(window, answer)
    this.#reads.push(answer)
    scan.read(answer)
  }

  #readsInOrder(): WindowAnswer[] {
    return this.#reads.toSorted((one, other) => startOf(one.window) - startOf(other.window))
  }

  get #cuts(): Cut[] {
    return this.#reads.flatMap((answer) => this.#service.cuts.get(answer) ?? [])
  }

  #lost(): Person[] {
    const read = new Set(this.#cuts.flatMap(({ served }) => [...served]))
    return this.#plan.list.livedSince(this.#since).filter(({ serial, hasId }) => hasId && !read.has(serial))
  }

  /** Two pages that share only customers who moved excuse it: the seam that is assumed to have stayed has not. */
  #isLostInPlace(person: Person, { proof }: Certificate): boolean {
    if (!this.#plan.list.keptPlace(person, this.#since)) return false
    const cuts = this.#cuts
    const before = cuts.filter(({ shown, end }) => shown.indexOf(person) >= end)
    const behind = cuts.filter(({ shown, start }) => shown.indexOf(person) < start)
    const people = new Map(cuts.flatMap(({ shown }) => shown.map((other) => [other.serial, other] as const)))
    const hasMoved = (serial: number): boolean => {
      const other = people.get(serial)
      return other === undefined || !this.#plan.list.keptPlace(other, this.#since)
    }
    const least = proof === 'proven' ? 1 : 2
    const isLoose = (left: Cut, right: Cut): boolean => {
      const shared = left.served.intersection(right.served)
      return shared.size >= least && [...shared].every(hasMoved)
    }
    return !before.some((left) => behind.some((right) => isLoose(left, right)))
  }
}
