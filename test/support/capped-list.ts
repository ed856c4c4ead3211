import { listScan } from '../../src/scan/list-scan.ts'
import type { Certificate } from '../../src/scan/scan.ts'
import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import { type Dice, dice } from './dice.ts'
import { drive } from './drive-scan.ts'
import { type ListOptions, SimulatedList } from './simulated-list.ts'

/**
 * What a service does behind its cap: `rows` shows no row there, `not-found` and `error` refuse every page that reaches there, and `total`
 * caps nothing but the number.
 */
export const CAPS = ['rows', 'not-found', 'error', 'total'] as const
export type Cap = (typeof CAPS)[number]

export type CappedNight = {
  certificate: Certificate
  /** Rows that were there during the whole scan but were not read, shown or not. */
  lost: number
  /** Those of them that never changed places with another. */
  lostInPlace: number
  read: number
  requests: number
}

/** A list behind a service that reports at most `most` customers, read night after night. */
export class CappedList {
  readonly list: SimulatedList
  readonly #dice: Dice
  readonly #rowIds = new Map<string, number>()

  constructor(seed: number, options: ListOptions) {
    this.#dice = dice(seed)
    this.list = new SimulatedList(this.#dice, options)
  }

  /** One scan. */
  night({ most, cap }: { most: number; cap: Cap }, between: () => void = () => {}): CappedNight {
    this.list.rememberAll()
    const scan = listScan()
    const answer = (window: Window) => this.#answer(window, most, cap)
    const { ids, requests } = drive(scan, { answer, between }, { dice: this.#dice, parallel: 1 + this.#dice.below(4) })
    const lost = this.list.survivors().filter((id) => !ids.has(id)).length
    const lostInPlace = this.list.stayed().filter((id) => !ids.has(id)).length
    return { certificate: scan.certificate(), lost, lostInPlace, read: ids.size, requests }
  }

  #answer(window: Window, most: number, cap: Cap): WindowAnswer | 'hole' {
    const { rows, ...answer } = this.list.answer(window)
    const start = window.size * (window.page - 1)
    const total = Math.min(most, this.list.size)
    const reachesBehind = start + window.size > most && this.list.size >= most
    if (cap === 'error' && reachesBehind) return 'hole'
    if (cap === 'not-found' && start >= total) return { ...answer, rows: [], total: undefined, beyondEnd: true }
    const shown = cap === 'total' ? rows : rows.slice(0, Math.max(0, most - start))
    return { ...answer, total, rows: shown.map((row) => ({ ...row, rowId: this.#rowIdOf(row.id ?? '') })) }
  }

  #rowIdOf(id: string): number {
    const rowId = this.#rowIds.get(id) ?? this.#rowIds.size + 1
    this.#rowIds.set(id, rowId)
    return rowId
  }
}
