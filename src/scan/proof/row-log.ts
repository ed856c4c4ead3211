import type { ReadWindow } from '../window/read-window.ts'

/** The row numbers of the windows read, in the order of their arrival: four bytes a row, and a few numbers a window. */
export class RowLog {
  #rows = new Uint32Array(1024)
  #used = 0
  #windows: { turn: number; start: number; end: number }[] = []

  add({ turn, start, keys }: Pick<ReadWindow, 'turn' | 'start' | 'keys'>): void {
    this.#makeRoomFor(keys.length)
    for (const key of keys) {
      // Rejects without a stored customer have their id instead, and forgotten customers a number below 0.
      if (typeof key !== 'number' || key <= 0) continue
      this.#rows[this.#used] = key
      this.#used += 1
    }
    this.#windows.push({ turn, start, end: this.#used })
  }

  /** The windows since the last call, each with its number, the position it starts at, and its rows. */
  *take(): Generator<{ turn: number; start: number; rows: Uint32Array }> {
    const windows = this.#windows
    this.#windows = []
    this.#used = 0
    let from = 0
    for (const { turn, start, end } of windows) {
      yield { turn, start, rows: this.#rows.subarray(from, end) }
      from = end
    }
  }

  #makeRoomFor(count: number): void {
    if (this.#used + count <= this.#rows.length) return
    const rows = new Uint32Array(Math.max(2 * this.#rows.length, this.#used + count))
    rows.set(this.#rows)
    this.#rows = rows
  }
}
