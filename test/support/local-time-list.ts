import type { Window, WindowAnswer } from '../../src/scan/window/window.ts'
import type { Dice } from './dice.ts'
import { SimulatedList } from './simulated-list.ts'

/** The zone whose clocks the list shows, and the moments at which they are set back, by a number of minutes. */
export type Clocks = {
  readonly minutes: number
  readonly setBack: readonly { readonly at: string; readonly by: number }[]
}

export const BERLIN: Clocks = {
  minutes: 120,
  setBack: [
    { at: '2023-10-29T01:00:00Z', by: 60 },
    { at: '2024-10-27T01:00:00Z', by: 60 },
  ],
}
export const LORD_HOWE: Clocks = { minutes: 660, setBack: [{ at: '2024-04-06T15:00:00Z', by: 30 }] }

/**
 * Customers in the order of a hidden number, who show the local time of their creation without a zone: one every `stepSeconds`, with the
 * clocks set back in the middle of them.
 */
export class LocalTimeList {
  readonly list: SimulatedList
  readonly #clocks: Clocks

  constructor(
    luck: Dice,
    { size, stepSeconds, clocks = BERLIN }: { size: number; stepSeconds: number; clocks?: Clocks },
  ) {
    const middle = (Date.parse(clocks.setBack[0]?.at ?? '') - ZERO_MS) / 1000
    const createdSecondOf = (serial: number) => Math.floor(middle + (serial - size / 2) * stepSeconds)
    this.list = new SimulatedList(luck, { size, order: 'serial', createdSecondOf })
    this.#clocks = clocks
  }

  answer(window: Window): WindowAnswer {
    const { rows, ...answer } = this.list.answer(window)
    return { ...answer, rows: rows.map((row) => ({ ...row, createdAt: this.#local(row.createdAt ?? '') })) }
  }

  #local(createdAt: string): string {
    const at = Date.parse(createdAt)
    let { minutes } = this.#clocks
    // In between, clocks are set forward, which leaves a gap and no hour twice.
    for (const set of this.#clocks.setBack)
      if (at >= Date.parse(set.at) && at < Date.parse(set.at) + HALF_A_YEAR_MS) minutes -= set.by
    return new Date(at + minutes * 60_000).toISOString().slice(0, 19).replace('T', ' ')
  }
}

/** Second 0 of a simulated list. */
const ZERO_MS = 1_700_000_000_000
const HALF_A_YEAR_MS = 150 * 86_400_000
