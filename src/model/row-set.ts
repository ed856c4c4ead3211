/** Rows share chunks of 2^13, because the rows of one organization mostly have close numbers. */
const CHUNK_BITS = 13
const CHUNK_ROWS = 1 << CHUNK_BITS

/** A set of row numbers, one bit each: a million consecutive rows take 125 KB, a single one 1 KB. */
export class RowSet implements Iterable<number> {
  readonly #chunks: (Int32Array | undefined)[] = []
  size = 0

  constructor(rows: Iterable<number> = []) {
    for (const row of rows) this.add(row)
  }

  has(row: number): boolean {
    return ((this.#chunks[row >>> CHUNK_BITS]?.[wordOf(row)] ?? 0) & (1 << (row & 31))) !== 0
  }

  /** Adds a row; false if the set already has it. */
  add(row: number): boolean {
    const chunk = this.#chunkAt(row >>> CHUNK_BITS)
    const word = chunk[wordOf(row)] ?? 0
    const bit = 1 << (row & 31)
    if ((word & bit) !== 0) return false
    chunk[wordOf(row)] = word | bit
    this.size += 1
    return true
  }

  addAll(other: RowSet): void {
    this.size += other.size
    other.#chunks.forEach((theirs, index) => {
      if (theirs === undefined) return
      const ours = this.#chunkAt(index)
      for (let at = 0; at < theirs.length; at += 1) {
        const more = theirs[at] ?? 0
        if (more === 0) continue
        const before = ours[at] ?? 0
        ours[at] = before | more
        this.size -= bitsIn(before & more)
      }
    })
  }

  *[Symbol.iterator](): Generator<number> {
    for (const [index, chunk] of this.#chunks.entries()) {
      if (chunk === undefined) continue
      for (let row = index * CHUNK_ROWS; row < (index + 1) * CHUNK_ROWS; row += 1) if (this.has(row)) yield row
    }
  }

  /** With the size, it distinguishes sets that differ by few rows. */
  sum(): number {
    let sum = 0
    for (const row of this) sum += row
    return sum
  }

  #chunkAt(index: number): Int32Array {
    return (this.#chunks[index] ??= new Int32Array(CHUNK_ROWS / 32))
  }
}

function wordOf(row: number): number {
  return (row & (CHUNK_ROWS - 1)) >>> 5
}

function bitsIn(word: number): number {
  let bits = 0
  for (let rest = word; rest !== 0; rest &= rest - 1) bits += 1
  return bits
}

/** A set of rows by their numbers, or by another key where they have none. */
export class SeenRows {
  readonly #rows = new RowSet()
  readonly #others = new Set<string | number>()

  add(key: string | number): void {
    if (typeof key === 'number' && key > 0) this.#rows.add(key)
    else this.#others.add(key)
  }

  get size(): number {
    return this.#rows.size + this.#others.size
  }
}
