import type { GroupResult, Row } from './results.ts'
import { QuickScan, RequestBudget } from '../src/quick/quick-scan.ts'
import { usualQuickLimit } from '../src/quick/read-quickly.ts'
import type { Window, WindowAnswer } from '../src/scan/window.ts'
import { below, type Random, seededRandom } from '../src/service/customers.ts'

/** What is read in quick scans, by the names of the rows. */
export const QUICK_SCANS = {
  creation: 'quick, by creation',
  name: 'quick, by name',
} as const

/** Enough for a rate of one in a hundred to show. */
const ROUNDS = 150
const [COME, LEAVE] = [5, 2]

/**
 * Quick scans of a list in which some customers came and left, without a service: the requests, and how many of these changes stay
 * unseen, because they cancel out between two pages that are read, or because the limit of requests is reached.
 */
export function measureQuick({ customers }: { customers: number }): GroupResult {
  const maxRequests = usualQuickLimit(customers, 100)
  const measured = ORDERS.map((order) => ({
    name: QUICK_SCANS[order],
    rounds: playQuickRounds({ order, customers, maxRequests }),
  }))
  return {
    name: 'quick-runs',
    about: `${customers.toLocaleString('en')} customers, ${COME} new and ${LEAVE} gone, ${ROUNDS} seeds, no service`,
    rows: measured.map(({ name, rounds }) => resultOf(name, rounds, customers)),
    notes: measured.map(({ name, rounds }) => `${name} (limit ${maxRequests}): ${whatWasFound(rounds)}`),
  }
}

function resultOf(name: string, rounds: readonly QuickRound[], customers: number): Row {
  return { name, floors: [], measurements: rounds.map(({ wallMs, requests }) => ({ wallMs, requests, customers })) }
}

function whatWasFound(rounds: readonly QuickRound[]): string {
  const most = Math.max(...rounds.map(({ requests }) => requests))
  const changes = (COME + LEAVE) * rounds.length
  const unseen = rounds.reduce((sum, round) => sum + round.unseen, 0)
  const affected = rounds.filter((round) => round.unseen > 0)
  const atLimit = rounds.filter(({ isAtLimit }) => isAtLimit).length
  return (
    `at most ${most} requests; ${unseen} of ${changes} changes unseen (${percent(unseen / changes)}), ` +
    `in ${percent(affected.length / rounds.length)} of the runs; ${atLimit} runs stopped at the limit`
  )
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

/** The order of a list: new customers stand at its end, or anywhere. */
const ORDERS = ['creation', 'name'] as const
type Order = (typeof ORDERS)[number]

type QuickRounds = { order: Order; customers: number; maxRequests: number }

/** What one quick scan asked for, how many of the customers that came and left it did not find, and whether it stopped at its limit. */
type QuickRound = ReturnType<typeof playQuickRounds>[number]

/** Quick scans of a list in which some customers came and left, each of the list as it was at first and with a seed of its own. */
function playQuickRounds({ order, customers, maxRequests }: QuickRounds) {
  const list = Uint32Array.from({ length: customers }, (_, index) => index + 1)
  if (order === 'name') shuffle(list, seededRandom(`quick ${order}`))
  const places = new Int32Array(customers + COME + 1).fill(-1)
  for (const [place, rowId] of list.entries()) places[rowId] = place
  const expected = { rowIds: list, placeOf: (rowId: number) => places[rowId] ?? -1 }
  return Array.from({ length: ROUNDS }, (_, round) => {
    const random = seededRandom(`quick ${order} ${round}`)
    const changed = changedList(list, order, random)
    const startMs = performance.now()
    const scan = new QuickScan({ expected, budget: new RequestBudget(maxRequests), turn: round })
    const read = new Set<number>()
    const requests = readAll(scan, changed.rows, read)
    const { gone } = scan.conclusion()
    const wallMs = performance.now() - startMs
    const wrong = gone.find((rowId) => !changed.gone.includes(rowId))
    if (wrong !== undefined) throw new Error(`a quick scan took customer ${wrong} for gone, who is listed`)
    const unseen = [
      ...changed.gone.filter((rowId) => !gone.includes(rowId)),
      ...changed.come.filter((rowId) => !read.has(rowId)),
    ]
    const isAtLimit = scan.certificate().reasons.includes('request-limit')
    return { wallMs, requests, unseen: unseen.length, isAtLimit }
  })
}

/** The list as it is now: the places at which customers leave and come are drawn, and the rest is copied in between. */
function changedList(list: Uint32Array, order: Order, random: Random) {
  const leaving = new Set<number>()
  while (leaving.size < LEAVE) leaving.add(below(random, list.length))
  const added = Array.from({ length: COME }, (_, index) => list.length + 1 + index)
  const coming = added.map((rowId) => ({
    rowId,
    before: order === 'name' ? below(random, list.length + 1) : list.length,
  }))
  const rows = new Uint32Array(list.length - LEAVE + COME)
  let [from, to] = [0, 0]
  const copyUntil = (end: number) => {
    rows.set(list.subarray(from, end), to)
    to += end - from
    from = end
  }
  const places = [
    ...[...leaving].map((place) => ({ place, rowId: 0 })),
    ...coming.map(({ rowId, before }) => ({ place: before, rowId })),
  ]
  for (const { place, rowId } of places.toSorted((one, other) => one.place - other.place || other.rowId - one.rowId)) {
    copyUntil(place)
    if (rowId === 0) from += 1
    else rows[to++] = rowId
  }
  copyUntil(list.length)
  return { rows, gone: [...leaving].map((place) => list[place] ?? 0), come: added }
}

/** Answers the windows of a scan until it is done, and returns their number. */
function readAll(scan: QuickScan, rows: Uint32Array, read: Set<number>): number {
  let requests = 0
  for (let windows = scan.next(AT_ONCE); windows.length > 0; windows = scan.next(AT_ONCE)) {
    for (const window of windows) {
      requests += 1
      scan.read(answerTo(window, rows, read))
    }
  }
  return requests
}

const AT_ONCE = 4

function answerTo(window: Window, rows: Uint32Array, read: Set<number>): WindowAnswer {
  const { page, size } = window
  const cut = [...rows.subarray(size * (page - 1), size * page)]
  for (const rowId of cut) read.add(rowId)
  const beyondEnd = cut.length === 0 && page > 1
  return { window, rows: cut.map(rowOf), total: rows.length, perPage: size, beyondEnd }
}

/** Rows with greater numbers were created later. Their ids are in no order. */
function rowOf(rowId: number) {
  const id = (Math.imul(rowId, 0x9e37_79b1) >>> 0).toString(16).padStart(32, '0')
  return { id, createdAt: new Date(1_600_000_000_000 + rowId * 1000).toISOString(), rowId, isKept: true }
}

function shuffle(list: Uint32Array, random: Random): void {
  for (let last = list.length - 1; last > 0; last -= 1) {
    const other = below(random, last + 1)
    const [one, two] = [list[last] ?? 0, list[other] ?? 0]
    list[last] = two
    list[other] = one
  }
}
