import { windowAt, type Window, type WindowAnswer } from '../scan/window.ts'

/** Searches for the end of the list: first where the total says that it is, and if the total is wrong, by the answers. */
export class ListEnd {
  /** Positions before it hold rows, and from `#upper` on there are none. */
  #lower = 0
  #upper = Infinity
  /** The total of the last answer with one. */
  #total: number | undefined
  #stride = 1
  readonly #expected: number

  constructor(expected: number) {
    this.#expected = expected
  }

  observe({ window, rows, perPage, total }: WindowAnswer): void {
    const start = perPage * (window.page - 1)
    this.#total = total ?? this.#total
    if (rows.length === 0) this.#upper = Math.max(this.#lower, Math.min(this.#upper, start))
    else this.#lower = Math.max(this.#lower, start + rows.length)
    const isShort = rows.length > 0 && rows.length < perPage
    if (this.#lower >= this.#upper || total === this.#lower || (isShort && (total ?? 0) <= this.#lower)) {
      this.#upper = this.#lower
    }
  }

  /** The length of the list, once it is known. */
  get length(): number | undefined {
    return this.#upper === this.#lower ? this.#lower : undefined
  }

  /** As far as the list is known to reach. */
  get least(): number {
    return this.#lower
  }

  /** The next window that may show the end. */
  next(size: number, isFixed: boolean): Window {
    const total = this.#total ?? this.#expected
    if (total > this.#lower && total < this.#upper) return lastWindow(total, size, isFixed)
    if (this.#upper < Infinity) return windowAt(Math.floor((this.#lower + this.#upper) / 2), size)
    this.#stride *= 2
    return windowAt(this.#lower + (this.#stride - 2) * size, size)
  }
}

/** The window with the last of `total` rows that has the most rows without being full: it shows the end by itself. */
function lastWindow(total: number, largest: number, isFixed: boolean): Window {
  let best = windowAt(total - 1, largest)
  if (isFixed) return best
  let most = total % largest
  for (let size = largest - 1; size >= Math.ceil(largest / 2) && size > most; size -= 1) {
    if (total % size <= most) continue
    best = windowAt(total - 1, size)
    most = total % size
  }
  return best
}
