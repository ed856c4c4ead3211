import type { OrderFacts } from '../../src/list/order-facts.ts'
import type { Certificate } from '../../src/scan/certificate.ts'
import { chainScan } from '../../src/scan/chain-scan.ts'
import { startOf, type Window, type WindowAnswer } from '../../src/scan/window/window.ts'
import { type Dice, dice } from './dice.ts'
import { drive, type Service } from './drive-scan.ts'
import { type ListOrder, SimulatedList } from './simulated-list.ts'

/** Facts that send a scan up from the end of the list. */
export const LAST_CHANGE: OrderFacts = { direction: 'last-change' }

export type Night = {
  certificate: Certificate
  order: OrderFacts
  /** Rows that were listed during the whole scan but were not read. */
  lost: number
  requests: number
  /** Requests of a scan that reads each page once. */
  plain: number
  /** Windows in the order in which they were answered. */
  asked: readonly Window[]
}

export type NightOptions = {
  order?: OrderFacts
  pageSize?: number
  parallel?: number
  recalled?: readonly WindowAnswer[]
  /** What happens between any two answers. */
  between?: () => void
  /** Answers in the place of the list's own; undefined where the list answers. */
  instead?: (window: Window) => ReturnType<Service['answer']> | undefined
}

/** Reads a list that goes on changing. */
export function readNight(list: SimulatedList, luck: Dice, options: NightOptions = {}): Night {
  const {
    order = {},
    pageSize = 100,
    parallel = 1,
    recalled = [],
    between = () => {},
    instead = () => undefined,
  } = options
  list.rememberAll()
  const plain = Math.max(1, Math.ceil(list.size / pageSize))
  const asked: Window[] = []
  const answer = (window: Window) => {
    asked.push(window)
    return instead(window) ?? list.answer(window)
  }
  const scan = chainScan({ pageSize, order, recalled })
  const { ids, requests } = drive(scan, { answer, between }, { dice: luck, parallel })
  const known = new Set([...ids, ...recalled.flatMap(({ rows }) => rows.map(idOf))])
  const lost = list.survivors().filter((id) => !known.has(id)).length
  return { certificate: scan.certificate(), order: scan.order, lost, requests, plain, asked }
}

/** A list by last change, or in another order, read upwards: customers change, are added and deleted, sometimes many at once. */
export function restlessNight(
  seed: number,
  { listOrder = 'last change desc', facts = LAST_CHANGE }: { listOrder?: ListOrder; facts?: OrderFacts } = {},
): Night {
  const luck = dice(seed)
  const perSecond = [0.2, 1, 3, 20][luck.below(4)] ?? 1
  const list = new SimulatedList(luck, { size: luck.below(1501), order: listOrder, perSecond })
  const [inserts, deletes, moves] = [luck.next() ** 3 * 0.6, luck.next() ** 3 * 0.6, luck.next() ** 2 * 3]
  const importAt = luck.chance(0.2) ? luck.below(Math.max(1, list.size / 80)) : -1
  let answers = 0
  const between = () => {
    if (luck.chance(inserts)) list.insert()
    if (luck.chance(deletes)) list.delete(luck.chance(0.03) ? 60 : 1)
    touch(list, moves, luck)
    if (answers === importAt) touch(list, list.size / 4, luck)
    answers += 1
  }
  return readNight(list, luck, { order: facts, parallel: 1 + luck.below(8), between })
}

/** Changes so many customers, on average. */
export function touch(list: SimulatedList, times: number, luck: Dice): void {
  for (let left = times; left > 0; left -= 1) if (luck.chance(left)) list.move()
}

/** Windows as they are recalled after an interruption: the last answer of each, in order of position. */
export function inOrderOfPosition(reads: readonly WindowAnswer[]): WindowAnswer[] {
  const latest = new Map(reads.map((read) => [`${read.window.page}/${read.window.size}`, read]))
  return [...latest.values()].toSorted((one, other) => startOf(one.window) - startOf(other.window))
}

function idOf(row: WindowAnswer['rows'][number]): string {
  return typeof row === 'object' ? (row.id ?? '') : ''
}
