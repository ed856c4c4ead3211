import type { Certificate } from '../../src/scan/scan.ts'
import { listScan } from '../../src/scan/list-scan.ts'
import { type Dice, dice } from './dice.ts'
import { drive } from './drive-scan.ts'
import { IMMUTABLE_ORDERS, type ListOrder, SimulatedList } from './simulated-list.ts'

export type Outcome = {
  certificate: Certificate
  /** Rows that were listed during the whole scan but were not read. */
  lost: number
  /** Those of them that never changed places with another. */
  lostInPlace: number
  requests: number
  /** Rows at the start. */
  size: number
  order: ListOrder
}

/** How often each change happens between two answers, on average. */
type Churn = { insert?: number; delete?: number; move?: number; bulk?: boolean }

const MUTABLE_ORDERS: readonly ListOrder[] = ['name', 'last change asc', 'last change desc']

/** Lists that change while they are read. A seed decides everything, so that a number repeats it. */
export const SCENARIOS = {
  /** Sorted by fields that never change; rows are added and deleted, sometimes many at once. */
  witnessed: (seed) => {
    const luck = dice(seed)
    const churn = { insert: luck.next() * 0.6, delete: luck.next() * 0.6, bulk: luck.chance(0.3) }
    return read(luck, luck.pick(IMMUTABLE_ORDERS), churn)
  },
  /** Sorted by creation time, equal times in another order at every answer; rows are added and deleted. */
  'restless ties': (seed) => {
    const luck = dice(seed)
    return read(luck, luck.pick(['ties asc', 'ties desc']), { insert: luck.next() * 0.6, delete: luck.next() * 0.6 })
  },
  /** Nothing changes. */
  still: (seed) => {
    const luck = dice(seed)
    return read(luck, luck.pick([...IMMUTABLE_ORDERS, ...MUTABLE_ORDERS]), {})
  },
  /** Nothing changes, but rows with equal creation times, up to all rows, are in another order at every answer. */
  'still ties': (seed) => {
    const luck = dice(seed)
    return read(luck, luck.pick(['ties asc', 'ties desc']), {}, luck.pick([3, 60, 400, 5000]))
  },
  /** One row moves, once, in a list sorted by name. */
  'one move': (seed) => {
    const luck = dice(seed)
    const when = luck.below(20)
    let answers = 0
    return read(luck, 'name', {}, 1, (list) => answers++ === when && list.move())
  },
  /** Rows are added, deleted and moved in a list sorted by name. */
  'moves by name': (seed) => {
    const luck = dice(seed)
    const churn = { insert: luck.next() ** 3 * 0.6, delete: luck.next() ** 3 * 0.6, move: luck.next() ** 3 * 0.6 }
    return read(luck, 'name', churn)
  },
  /** Rows are added, deleted and moved in a list sorted by last change, which looks sorted by creation. */
  'moves by last change': (seed) => {
    const luck = dice(seed)
    const churn = { insert: luck.next() ** 3 * 0.6, delete: luck.next() ** 3 * 0.6, move: luck.next() ** 3 * 0.6 }
    return read(luck, luck.pick(['last change asc', 'last change desc']), churn)
  },
  /** Sorted by a hidden number, in which creation times repeat; many rows are deleted at once. */
  'two runs of creation times': (seed) => {
    const luck = dice(seed)
    const size = 150 + luck.below(700)
    const turn = luck.below(size)
    const isBackward = luck.chance(0.3)
    const createdSecondOf = (serial: number) =>
      serial > turn && serial <= size ? serial - turn + luck.below(2) : serial
    return purged(luck, { size, createdSecondOf: isBackward ? (serial) => -createdSecondOf(serial) : createdSecondOf })
  },
  /** Sorted by a hidden number, which creation times follow except for a few rows with other dates. */
  'a row dated into the future': (seed) => {
    const luck = dice(seed)
    const size = 150 + luck.below(700)
    const odd = new Set(Array.from({ length: 1 + luck.below(3) }, () => luck.below(size)))
    const perSecond = luck.pick([1, 1, 3])
    const years = luck.chance(0.8) ? 1e8 : -1e8
    const createdSecondOf = (serial: number) => Math.floor(serial / perSecond) + (odd.has(serial) ? years : 0)
    return purged(luck, { size, createdSecondOf })
  },
  /** Sorted by creation time; up to three imports of one second stand in another order at every answer, among dated rows. */
  'imports of one second': (seed) => {
    const luck = dice(seed)
    const size = 300 + luck.below(1200)
    const imports = Array.from({ length: 1 + luck.below(3) }, () => ({
      first: luck.below(size),
      rows: luck.pick([30, 60, 99, 150, 400]),
    }))
    const createdSecondOf = (serial: number) =>
      imports.find(({ first, rows }) => serial >= first && serial < first + rows)?.first ?? serial
    const churn = luck.chance(0.5) ? 0 : luck.next() ** 2 * 0.4
    const order = luck.pick(['ties asc', 'ties desc'] as const)
    const list = new SimulatedList(luck, { size, order, createdSecondOf })
    return drawn(luck, list, order, () => stir(luck, list, { insert: churn, delete: churn }))
  },
  /** Sorted by anything; rows are added, deleted and moved before every answer, on average up to three of each. */
  settling: (seed) => {
    const luck = dice(seed)
    const churn = { insert: luck.next() ** 2 * 3, delete: luck.next() ** 2 * 3, move: luck.next() ** 2 * 3 }
    return read(luck, luck.pick([...MUTABLE_ORDERS, 'name', 'name', 'serial']), churn, luck.pick([1, 20, 5000]))
  },
  /** Sorted by last change: an unread row changes, and more than a page of new rows move it away from the end. */
  'pushed down': (seed) => {
    const luck = dice(seed)
    const order = luck.pick(['last change asc', 'last change desc'] as const)
    const list = new SimulatedList(luck, { size: 150 + luck.below(700), order })
    let pushes = 1 + luck.below(2)
    return drawn(luck, list, order, () => {
      if (pushes === 0 || !luck.chance(0.15)) return
      pushes -= 1
      for (let moved = 1 + luck.below(3); moved > 0; moved -= 1) list.move()
      for (let made = luck.below(350); made > 0; made -= 1) list.insert()
    })
  },
} satisfies Record<string, (seed: number) => Outcome>

export type Scenario = keyof typeof SCENARIOS

export function isScenario(name: string): name is Scenario {
  return Object.hasOwn(SCENARIOS, name)
}

function read(
  luck: Dice,
  order: ListOrder,
  churn: Churn,
  perSecond = luck.pick([0.2, 1, 3, 20]),
  alsoBetween: (list: SimulatedList) => unknown = () => {},
): Outcome {
  const list = new SimulatedList(luck, { size: luck.below(1501), order, perSecond })
  const { size } = list
  const scan = listScan()
  const between = () => {
    stir(luck, list, churn)
    alsoBetween(list)
  }
  const service = { answer: list.answer.bind(list), between }
  const { ids, requests } = drive(scan, service, { dice: luck, parallel: 1 + luck.below(8) })
  const lost = list.survivors().filter((id) => !ids.has(id)).length
  const lostInPlace = list.stayed().filter((id) => !ids.has(id)).length
  return { certificate: scan.certificate(), lost, lostInPlace, requests, size, order }
}

/** A list sorted by a hidden number, from which many consecutive rows are deleted, a few times. */
function purged(luck: Dice, options: { size: number; createdSecondOf: (serial: number) => number }): Outcome {
  const list = new SimulatedList(luck, { ...options, order: 'serial' })
  let purges = 1 + luck.below(3)
  return drawn(luck, list, 'serial', () => {
    if (purges === 0 || !luck.chance(0.25)) return
    purges -= 1
    list.delete(1 + luck.below(150))
  })
}

function drawn(luck: Dice, list: SimulatedList, order: ListOrder, between: () => void): Outcome {
  const { size } = list
  const scan = listScan()
  const service = { answer: list.answer.bind(list), between }
  const { ids, requests } = drive(scan, service, { dice: luck, parallel: 1 + luck.below(8) })
  const lost = list.survivors().filter((id) => !ids.has(id)).length
  const lostInPlace = list.stayed().filter((id) => !ids.has(id)).length
  return { certificate: scan.certificate(), lost, lostInPlace, requests, size, order }
}

function stir(
  luck: Dice,
  list: SimulatedList,
  { insert = 0, delete: remove = 0, move = 0, bulk = false }: Churn,
): void {
  const many = bulk && luck.chance(0.05) ? 120 : 1
  for (let come = times(luck, insert); come > 0; come--) for (let made = 0; made < many; made++) list.insert()
  for (let gone = times(luck, remove); gone > 0; gone--) list.delete(many)
  for (let moved = times(luck, move); moved > 0; moved--) list.move()
}

/** How often something happens that happens so often on average. */
function times(luck: Dice, average: number): number {
  return Math.floor(average) + (luck.chance(average % 1) ? 1 : 0)
}
