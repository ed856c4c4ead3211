import { randomInt } from 'node:crypto'

/** At the start, and so many times as much whenever three quarters are taken. */
const SLOTS = 1 << 13
const GROWTH = 2
/** 2^32 divided by the golden ratio: multiplied by it, numbers spread evenly. */
const GOLDEN = 0x9e37_79b1

/**
 * Where the customers of an initial sync are, by their ids: open addressing over typed arrays, some 10 bytes a customer. A row that it
 * names may be of another customer, or not be there after a transaction that failed, so the caller compares.
 */
export class InitialIds {
  /** Another one for each run, so that no list can be made for which this takes long. */
  readonly #seed = randomInt(2 ** 32)
  /** Row numbers; 0 is a free slot. */
  #rowIds = new Uint32Array(SLOTS)
  /** The hashes of their ids, of which the lower bits choose the slot. */
  #hashes = new Uint32Array(SLOTS)
  #count = 0

  add(id: string, rowId: number): void {
    this.#put(this.#hashOf(id), rowId)
  }

  /** Adds a customer, unless it may be there already: false then. */
  addNew(id: string, rowId: number): boolean {
    const hash = this.#hashOf(id)
    const mask = this.#rowIds.length - 1
    for (let slot = hash & mask; this.#rowIds[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#hashes[slot] === hash) return false
    this.#put(hash, rowId)
    return true
  }

  /** The rows that may be of this customer. */
  rowsOf(id: string): number[] {
    const hash = this.#hashOf(id)
    const rows: number[] = []
    const mask = this.#rowIds.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const rowId = this.#rowIds[slot] ?? 0
      if (rowId === 0) return rows
      if (this.#hashes[slot] === hash) rows.push(rowId)
    }
  }

  #hashOf(id: string): number {
    let hash = this.#seed
    for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), GOLDEN)
    return (hash ^ (hash >>> 15)) >>> 0
  }

  #put(hash: number, rowId: number): void {
    if (4 * this.#count >= 3 * this.#rowIds.length) this.#grow()
    const mask = this.#rowIds.length - 1
    let slot = hash & mask
    while (this.#rowIds[slot] !== 0) slot = (slot + 1) & mask
    this.#rowIds[slot] = rowId
    this.#hashes[slot] = hash
    this.#count += 1
  }

  #grow(): void {
    const [rowIds, hashes] = [this.#rowIds, this.#hashes]
    this.#rowIds = new Uint32Array(rowIds.length * GROWTH)
    this.#hashes = new Uint32Array(rowIds.length * GROWTH)
    this.#count = 0
    for (let slot = 0; slot < rowIds.length; slot += 1) {
      const rowId = rowIds[slot] ?? 0
      if (rowId !== 0) this.#put(hashes[slot] ?? 0, rowId)
    }
  }
}
