import { expect, test } from 'vitest'
import { QuickScan, RequestBudget } from '../../src/quick/quick-scan.ts'
import { keyOf } from '../../src/scan/window.ts'
import { dice, type Dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { expecting, QuickList, shuffle } from '../support/quick-list.ts'
import { seeds } from '../support/seeds.ts'

const LISTS = seeds(10_000, { every: 320 })

const ORDERS = ['creation', 'newest first', 'name'] as const

/** A list in some order, as it was when it was last read, and all that happens to it. */
class Changing {
  readonly list: QuickList
  readonly before: readonly number[]
  readonly #order: (typeof ORDERS)[number]
  readonly #dice: Dice

  constructor(chance: Dice) {
    this.#dice = chance
    this.#order = ORDERS[chance.below(ORDERS.length)] ?? 'name'
    this.list = new QuickList(chance.below(chance.chance(0.2) ? 12 : 1500))
    if (this.#order === 'newest first') this.list.rows.reverse()
    if (this.#order === 'name') shuffle(this.list, chance)
    this.before = [...this.list.rows]
  }

  get #length(): number {
    return this.list.rows.length
  }

  insert(): void {
    if (this.#order === 'name') this.list.insert(this.#dice.below(this.#length + 1))
    else this.list.insert(this.#order === 'creation' ? this.#length : 0)
  }

  delete(): void {
    if (this.#length > 0) this.list.delete(this.#dice.below(this.#length))
  }

  change(times: number): void {
    for (let time = 0; time < times; time += 1) {
      if (this.#dice.chance(0.5)) this.insert()
      else this.delete()
    }
  }

  get keepsOrder(): boolean {
    return this.#order !== 'name'
  }
}

function settingsOf(chance: Dice) {
  const cap = chance.chance(0.3) ? 7 + chance.below(94) : 100
  const isFixed = chance.chance(0.2)
  const maxRequests = chance.chance(0.3) ? 3 + chance.below(20) : 1000
  return { cap, isFixed, maxRequests, parallel: 1 + chance.below(6), turn: chance.below(1000) }
}

test('between two readings, what came and what left is found or cancels out, and none who stayed is gone', () => {
  let hidden = 0
  for (let seed = 1; seed <= LISTS; seed += 1) {
    const chance = dice(seed)
    const changing = new Changing(chance)
    const { list, before } = changing
    changing.change(chance.below(12))
    const { cap, maxRequests, parallel, turn } = settingsOf(chance)
    const scan = new QuickScan({ expected: expecting(before), budget: new RequestBudget(maxRequests), turn })

    const ride = drive(scan, { answer: (window) => list.answer(window, { cap }) }, { dice: chance, parallel })

    const { gone, laterOrder } = scan.conclusion()
    const listed = new Set(list.rows)
    const read = new Set(ride.reads.flatMap(({ rows }) => rows.map(keyOf)))
    expect(
      gone.filter((rowId) => listed.has(rowId) || !before.includes(rowId)),
      `seed ${seed}`,
    ).toEqual([])
    expect(ride.requests, `seed ${seed}`).toBeLessThanOrEqual(maxRequests)
    if (scan.certificate().reasons.includes('request-limit')) continue
    const known = new Set(before)
    const unseen = list.rows.filter((rowId) => !known.has(rowId) && !read.has(rowId))
    const left = before.filter((rowId) => !listed.has(rowId))
    const unnoticed = left.filter((rowId) => !gone.includes(rowId))
    // What is not found cancels out.
    expect(unseen.length, `seed ${seed}`).toBe(unnoticed.length)
    if (changing.keepsOrder) hidden += unseen.length > 0 ? 1 : 0
    if (unseen.length === 0) expect(laterOrder, `seed ${seed}`).toEqual(list.rows)
  }
  expect(hidden).toBeLessThanOrEqual(LISTS / 1000)
})

test('while customers come and leave during the scan, none who is listed throughout is gone', () => {
  for (let seed = 1; seed <= LISTS; seed += 1) {
    const chance = dice(seed)
    const changing = new Changing(chance)
    const { list, before } = changing
    changing.change(chance.below(6))
    const atStart = new Set(list.rows)
    const rate = chance.next() / 2
    const { cap, isFixed, maxRequests, parallel, turn } = settingsOf(chance)
    const scan = new QuickScan({ expected: expecting(before), budget: new RequestBudget(maxRequests), turn })
    const between = () => {
      if (chance.chance(rate)) changing.change(1)
    }
    const answer: Parameters<typeof drive>[1]['answer'] = (window) =>
      isFixed && window.size !== 100 ? 'size-refused' : list.answer(window, { cap: isFixed ? 100 : cap })

    const ride = drive(scan, { answer, between }, { dice: chance, parallel })

    const stayed = list.rows.filter((rowId) => atStart.has(rowId))
    const gone = new Set(scan.conclusion().gone)
    expect(
      stayed.filter((rowId) => gone.has(rowId)),
      `seed ${seed}`,
    ).toEqual([])
    expect(ride.requests, `seed ${seed}`).toBeLessThanOrEqual(maxRequests)
  }
})

test('scan after scan, the later order leads to the list as it is', () => {
  for (let seed = 1; seed <= seeds(1000, { every: 60 }); seed += 1) {
    const chance = dice(seed)
    const changing = new Changing(chance)
    const { list } = changing
    let before = changing.before
    let pending: readonly number[] = []
    for (let turn = 0; turn < 4; turn += 1) {
      if (changing.keepsOrder) changing.change(chance.below(6))
      else for (let made = chance.below(4); made > 0; made -= 1) changing.insert()
      const scan = new QuickScan({
        expected: expecting(before),
        pending,
        budget: new RequestBudget(12 + chance.below(40)),
        turn,
      })
      drive(scan, { answer: (window) => list.answer(window) }, { dice: chance, parallel: 4 })
      const found = scan.conclusion()
      expect(
        found.gone.filter((rowId) => list.rows.includes(rowId)),
        `seed ${seed}`,
      ).toEqual([])
      before = found.laterOrder ?? before
      pending = found.pending
    }
    const scan = new QuickScan({ expected: expecting(before), pending, budget: new RequestBudget(1000), turn: 5 })
    drive(scan, { answer: (window) => list.answer(window) }, { dice: chance, parallel: 4 })
    expect(scan.conclusion().laterOrder, `seed ${seed}`).toEqual(list.rows)
  }
})
