/** Entries in an order into which others are inserted. Entries are numbered from 0 in the order in which they are added. */
export class LinkedOrder {
  readonly #next: Int32Array
  readonly #previous: Int32Array
  #first = NONE
  #last = NONE
  #isInOrder = true

  /** Room for so many entries. */
  constructor(room: number) {
    this.#next = new Int32Array(room)
    this.#previous = new Int32Array(room)
  }

  /** Whether entries stand in the order in which they were added. */
  get isInOrder(): boolean {
    return this.#isInOrder
  }

  /** Adds an entry behind another one; at the end without one. */
  addAfter(other: number | undefined, entry: number): void {
    this.#add(entry, other ?? this.#last)
  }

  /** Adds an entry before another one. */
  addBefore(other: number, entry: number): void {
    this.#add(entry, this.#previous[other] ?? NONE)
  }

  #add(entry: number, previous: number): void {
    const next = previous === NONE ? this.#first : (this.#next[previous] ?? NONE)
    this.#previous[entry] = previous
    this.#next[entry] = next
    if (previous === NONE) this.#first = entry
    else this.#next[previous] = entry
    if (next === NONE) this.#last = entry
    else this.#previous[next] = entry
    this.#isInOrder &&= next === NONE
  }

  /** The entries in order. */
  *[Symbol.iterator](): Generator<number> {
    for (let entry = this.#first; entry !== NONE; entry = this.#next[entry] ?? NONE) yield entry
  }
}

const NONE = -1
