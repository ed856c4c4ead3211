import type { ExpectedOrder } from '../../src/quick/comparison.ts'
import { QuickScan, RequestBudget, type QuickScanOptions } from '../../src/quick/quick-scan.ts'
import type { Row } from '../../src/model/customer.ts'
import { keyOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { type Dice, dice } from './dice.ts'
import { drive, type Service } from './drive-scan.ts'

/** A list of row numbers. Rows with greater numbers were created later, and ids are in no order. */
export class QuickList {
  rows: number[]
  #made: number

  constructor(size: number) {
    this.rows = Array.from({ length: size }, (_, index) => index + 1)
    this.#made = size
  }

  /** Adds a new row, at the end or at a place. */
  insert(place = this.rows.length): number {
    this.#made += 1
    this.rows.splice(place, 0, this.#made)
    return this.#made
  }

  delete(place: number): number {
    return this.rows.splice(place, 1)[0] ?? 0
  }

  /** Moves a row to where it stands at `to` afterwards. */
  move(from: number, to: number): number {
    const rowId = this.delete(from)
    this.rows.splice(to, 0, rowId)
    return rowId
  }

  answer(window: Window, { total = this.rows.length, cap = 100 } = {}): WindowAnswer {
    const size = Math.min(cap, window.size)
    const from = size * (window.page - 1)
    const rows = this.rows.slice(from, from + size).map((rowId) => rowOf(rowId))
    return { window, rows, total, perPage: size, beyondEnd: rows.length === 0 && from > 0 }
  }
}

function rowOf(rowId: number): Row {
  const id = (Math.imul(rowId, 0x9e37_79b1) >>> 0).toString(16).padStart(32, '0')
  return { id, createdAt: new Date(1_600_000_000_000 + rowId * 1000).toISOString(), rowId }
}

/** The order in which these rows are expected. */
export function expecting(rowIds: readonly number[]): ExpectedOrder {
  const places = new Map(rowIds.map((rowId, place) => [rowId, place]))
  return { rowIds, placeOf: (rowId) => places.get(rowId) ?? -1 }
}

/** The order of a list by name: its rows stand in no order that can be seen. */
export function shuffle(list: QuickList, drawing: Dice): void {
  for (let last = list.rows.length - 1; last > 0; last -= 1) {
    const other = drawing.below(last + 1)
    const [one, two] = [list.rows[last] ?? 0, list.rows[other] ?? 0]
    list.rows[last] = two
    list.rows[other] = one
  }
}

type Settings = Partial<QuickScanOptions> & { service?: Service; maxRequests?: number }

/** Reads the list as a quick scan does, after it was expected in the order `before`. */
export function readQuickly(
  list: QuickList,
  before: readonly number[],
  { service, maxRequests = 100, ...options }: Settings = {},
) {
  const scan = new QuickScan({ expected: expecting(before), budget: new RequestBudget(maxRequests), ...options })
  const ride = drive(scan, service ?? { answer: (window) => list.answer(window) }, { dice: dice(7), parallel: 4 })
  const read = new Set(ride.reads.flatMap(({ rows }) => rows.map(keyOf)))
  const { reasons, distinct } = scan.certificate()
  return { ...scan.conclusion(), reasons, distinct, requests: ride.requests, read, reads: ride.reads }
}
