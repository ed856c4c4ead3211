/** A set of row numbers, one bit each: a million rows take 125 KB. */
export class RowSet {
  #bits = new Uint8Array(1024)
  #size = 0

  get size(): number {
    return this.#size
  }

  has(row: number): boolean {
    return ((this.#bits[row >>> 3] ?? 0) & (1 << (row & 7))) !== 0
  }

  /** Adds a row; false when it was there already. */
  add(row: number): boolean {
    if (this.has(row)) return false
    const byte = row >>> 3
    if (byte >= this.#bits.length) this.#grow(byte + 1)
    this.#bits[byte] = (this.#bits[byte] ?? 0) | (1 << (row & 7))
    this.#size += 1
    return true
  }

  clear(): void {
    this.#bits.fill(0)
    this.#size = 0
  }

  #grow(bytes: number): void {
    const grown = new Uint8Array(Math.max(bytes, this.#bits.length * 2))
    grown.set(this.#bits)
    this.#bits = grown
  }
}
