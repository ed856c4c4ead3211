/** A value that is nowhere in the index. */
const NOTHING = 0

/** Finds the place of a value in a column: open addressing over a typed array, six to twelve bytes a place. */
export class PlaceIndex {
  readonly #column: Float64Array | Uint32Array
  /** Place + 1 of the value in each slot; 0 if the slot is free. */
  readonly #slots: Uint32Array
  readonly #mask: number

  /** Room for every place of `column`; none of them is in the index yet. Values spread evenly in their lower bits. */
  constructor(column: Float64Array | Uint32Array) {
    this.#column = column
    const size = 2 ** Math.ceil(Math.log2(Math.max(8, column.length * 1.5)))
    this.#slots = new Uint32Array(size)
    this.#mask = size - 1
  }

  /** An index of the whole column. */
  static over(column: Float64Array | Uint32Array): PlaceIndex {
    const index = new PlaceIndex(column)
    for (let place = 0; place < column.length; place += 1) index.add(place)
    return index
  }

  /** The first added place of this value; -1 if there is none. */
  find(value: number): number {
    if (value === NOTHING) return -1
    for (let slot = value & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const place = (this.#slots[slot] ?? 0) - 1
      if (place < 0 || this.#column[place] === value) return place
    }
  }

  /** Adds the current value of the column at this place. */
  add(place: number): void {
    const value = this.#column[place] ?? NOTHING
    if (value === NOTHING) return
    let slot = value & this.#mask
    while (this.#slots[slot] !== 0) slot = (slot + 1) & this.#mask
    this.#slots[slot] = place + 1
  }
}
