import type { Fingerprint } from '../../fingerprint.ts'

/** At the start, and so many times as much whenever three quarters are taken. */
const SLOTS = 1 << 13
const GROWTH = 2
const ID_LENGTH = 36

/**
 * Where the customers of an initial sync are, by their ids: open addressing over typed arrays, some 10 bytes a customer. A row that it
 * names may be of another customer, or not be there after a transaction that failed, so the caller compares.
 */
export class InitialIds {
  /** With a key, so that a service cannot make a list for which this takes long. */
  readonly #fingerprint: Fingerprint
  readonly #text = Buffer.alloc(ID_LENGTH)
  readonly #bytes = new DataView(this.#text.buffer, this.#text.byteOffset, ID_LENGTH)
  /** Row numbers; 0 is a free slot. */
  #rowIds = new Uint32Array(SLOTS)
  /** The fingerprints of their ids, of which the lower bits choose the slot. */
  #prints = new Uint32Array(SLOTS)
  #count = 0

  constructor(fingerprint: Fingerprint) {
    this.#fingerprint = fingerprint
  }

  add(id: string, rowId: number): void {
    this.#put(this.#printOf(id), rowId)
  }

  /** Adds a customer, unless it may be there already: false then. */
  addNew(id: string, rowId: number): boolean {
    const print = this.#printOf(id)
    const mask = this.#rowIds.length - 1
    for (let slot = print & mask; this.#rowIds[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#prints[slot] === print) return false
    this.#put(print, rowId)
    return true
  }

  /** The rows that may be of this customer. */
  rowsOf(id: string): number[] {
    const print = this.#printOf(id)
    const rows: number[] = []
    const mask = this.#rowIds.length - 1
    for (let slot = print & mask; ; slot = (slot + 1) & mask) {
      const rowId = this.#rowIds[slot] ?? 0
      if (rowId === 0) return rows
      if (this.#prints[slot] === print) rows.push(rowId)
    }
  }

  #printOf(id: string): number {
    this.#text.write(id, 'latin1')
    return this.#fingerprint.id(this.#bytes, 0)
  }

  #put(print: number, rowId: number): void {
    if (4 * this.#count >= 3 * this.#rowIds.length) this.#grow()
    const mask = this.#rowIds.length - 1
    let slot = print & mask
    while (this.#rowIds[slot] !== 0) slot = (slot + 1) & mask
    this.#rowIds[slot] = rowId
    this.#prints[slot] = print
    this.#count += 1
  }

  #grow(): void {
    const [rowIds, prints] = [this.#rowIds, this.#prints]
    this.#rowIds = new Uint32Array(rowIds.length * GROWTH)
    this.#prints = new Uint32Array(rowIds.length * GROWTH)
    this.#count = 0
    for (let slot = 0; slot < rowIds.length; slot += 1) {
      const rowId = rowIds[slot] ?? 0
      if (rowId !== 0) this.#put(prints[slot] ?? 0, rowId)
    }
  }
}
