import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import type { Run } from '../../src/model/run.ts'
import { DAY_MS, night, scanEnding } from './nights.ts'
import { aCustomer, aPage, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { type Dice, dice as diceOf } from '../support/dice.ts'
import { aMirror, type Row, rowsOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

/** A warehouse that asks only for what has a greater `updated_at` than what it has. */
class Reader {
  readonly #file: string
  readonly #rows = new Map<string, Row>()
  #newest = '1970-01-01'

  constructor(file: string) {
    this.#file = file
  }

  /** The rows that are new to it. */
  read(): Row[] {
    const rows = rowsOf(this.#file, 'SELECT * FROM customers WHERE updated_at > ? ORDER BY updated_at', this.#newest)
    for (const row of rows) {
      this.#rows.set(`${String(row['organization'])} ${String(row['id'])}`, row)
      this.#newest = String(row['updated_at'])
    }
    return rows
  }

  rows(): Row[] {
    return [...this.#rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  }
}

const named = (...numbers: number[]) => numbers.map((n) => `Customer ${n}`)
const badRecord = (n: number) => ({ id: customerId(n), name: {} })

test('every visible change of a row is read by its updated_at, and nothing else is', async () => {
  const mirror = await aMirror()
  const reader = new Reader(mirror.file)
  const changed = () =>
    reader
      .read()
      .map(({ name }) => String(name))
      .toSorted()
  await night(mirror, 0, customers(1, 30))
  expect(changed()).toHaveLength(30)

  await night(mirror, 1, customers(1, 30))
  expect(changed()).toEqual([])
  await night(mirror, 2, [aCustomer(1, { phone: 'new' }), ...customers(2, 28)])
  expect(changed(), 'changed, and missing').toEqual(named(1, 29, 30))
  const list = [aCustomer(1, { phone: 'new' }), ...customers(2, 28)]
  await night(mirror, 3, [...list, aCustomer(30)])
  expect(changed(), 'removed, and no longer missing').toEqual(named(29, 30))
  await night(mirror, 4, [...list, ...customers(29, 30)])
  expect(changed(), 'returned').toEqual(named(29))
  await night(mirror, 5, list)
  await night(mirror, 6, list)
  expect(changed(), 'missing and removed').toEqual(named(29, 30))
  await night(mirror, 7, [...list, badRecord(30)])
  expect(changed(), 'returned in a reject').toEqual(named(30))
})

test('a reader of updated_at at any moments has every row as it is, whatever runs at once and wherever clocks stand', async () => {
  for (let seed = 1; seed <= seeds(50, { least: 2, every: 25 }); seed += 1) {
    const dice = diceOf(seed)
    const first = await aMirror()
    const processes = [first, await aMirror(first.file)]
    const reader = new Reader(first.file)
    const organizations = ['acme', 'globex'].map((name, at) => new Organization(name, processes[at] ?? first, dice))
    for (let step = 0; step < 60; step += 1) {
      const clock = START_MS + step * 3 * MINUTE_MS + (dice.chance(0.2) ? (dice.below(9) - 4) * DAY_MS : 0)
      await organizations[dice.below(2)]?.go(clock)
      if (dice.chance(0.3)) reader.read()
    }
    reader.read()
    const rows = rowsOf(first.file, 'SELECT * FROM customers ORDER BY organization, id')
    expect({ seed, rows: reader.rows() }).toEqual({ seed, rows })
  }
})

/** An organization whose runs begin, save pages and end, one step at a time. */
class Organization {
  readonly #name: string
  readonly #mirror: Mirror
  readonly #dice: Dice
  #run: Run | undefined
  #pages = 0

  constructor(name: string, mirror: Mirror, dice: Dice) {
    this.#name = name
    this.#mirror = mirror
    this.#dice = dice
  }

  async go(nowMs: number): Promise<void> {
    const dice = this.#dice
    const mirror = this.#mirror
    if (this.#run === undefined) {
      const [held] = (await mirror.listHeldRemovals()).filter(({ organization }) => organization === this.#name)
      if (held !== undefined && dice.chance(0.5)) await mirror.approveRemovals(held.runId, nowMs)
      this.#run = await mirror.startRun({ organization: this.#name, trigger: 'sync', nowMs })
      this.#pages = 0
    } else if (dice.chance(0.6)) {
      const pages = Array.from({ length: 1 + dice.below(2) }, () => aPage((this.#pages += 1), this.#list()))
      await mirror.savePages(this.#run, pages, nowMs)
    } else {
      const proof = (['proven', 'settled', 'unproven'] as const)[dice.below(3)] ?? 'proven'
      const rule = { after: 1 + dice.below(2), maxShare: dice.chance(0.7) ? 1 : 0.1 }
      const confirmed = Array.from({ length: 40 }, (_, at) => customerId(at)).filter(() => dice.chance(0.5))
      await mirror.finishRun(this.#run, scanEnding({ proof, rule, confirmed }), nowMs)
      this.#run = undefined
    }
  }

  #list(): object[] {
    const dice = this.#dice
    return Array.from({ length: dice.below(30) }, () => {
      const n = 1 + dice.below(40)
      if (dice.chance(0.1)) return { id: customerId(n), name: [] }
      return aCustomer(n, dice.chance(0.5) ? { name: `Name ${dice.below(3)}` } : {})
    })
  }
}
