/** Entries in an order into which others are inserted. Entries are numbered from 0 in the order in which they are added. */
export class LinkedOrder {
  readonly #room: number
  #count = 0
  /** Eight bytes an entry; undefined while all stand in the order in which they were added, as those of most lists do. */
  #links: Links | undefined

  /** Room for so many entries. */
  constructor(room: number) {
    this.#room = room
  }

  /** Whether entries stand in the order in which they were added. */
  get isInOrder(): boolean {
    return this.#links === undefined
  }

  /** Adds the next entry behind another one; at the end without one. */
  addAfter(other?: number): void {
    if (this.#links === undefined && (other ?? this.#count - 1) === this.#count - 1) this.#count += 1
    else this.#linked().add(this.#count++, other)
  }

  /** Adds the next entry before another one. */
  addBefore(other: number): void {
    const links = this.#linked()
    links.add(this.#count++, links.previousOf(other))
  }

  #linked(): Links {
    return (this.#links ??= new Links(this.#room, this.#count))
  }

  /** The entries in order. */
  *[Symbol.iterator](): Generator<number> {
    if (this.#links !== undefined) yield* this.#links
    else for (let entry = 0; entry < this.#count; entry += 1) yield entry
  }
}

/** For each entry the one before and the one behind it. */
class Links {
  readonly #next: Int32Array
  readonly #previous: Int32Array
  #first = NONE
  #last = NONE

  /** Room for so many entries, of which the first `count` stand in the order of their numbers. */
  constructor(room: number, count: number) {
    this.#next = new Int32Array(room)
    this.#previous = new Int32Array(room)
    for (let entry = 0; entry < count; entry += 1) this.add(entry)
  }

  /** Adds an entry behind another one: NONE for the beginning, undefined for the end. */
  add(entry: number, previous: number = this.#last): void {
    const next = previous === NONE ? this.#first : (this.#next[previous] ?? NONE)
    this.#previous[entry] = previous
    this.#next[entry] = next
    if (previous === NONE) this.#first = entry
    else this.#next[previous] = entry
    if (next === NONE) this.#last = entry
    else this.#previous[next] = entry
  }

  previousOf(entry: number): number {
    return this.#previous[entry] ?? NONE
  }

  *[Symbol.iterator](): Generator<number> {
    for (let entry = this.#first; entry !== NONE; entry = this.#next[entry] ?? NONE) yield entry
  }
}

const NONE = -1
