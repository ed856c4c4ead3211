import type { Fingerprint } from '../../model/fingerprint.ts'

const SLOTS = 1 << 13
const GROWTH = 1.5
/** Fingerprints are kept in parts of so many rows, so that none is copied when there are more. */
const PART_BITS = 13
const ID_LENGTH = 36

/** Rows of an initial sync by their ids, in 10 bytes a customer; they may be of another, or of a failed transaction: the caller compares. */
export class InitialIds {
  /** With a key, so that a service cannot make a list for which this takes long. */
  readonly #fingerprint: Fingerprint
  readonly #text = new Uint8Array(ID_LENGTH)
  readonly #bytes = new DataView(this.#text.buffer)
  #slots = new Uint32Array(SLOTS)
  readonly #prints: (Uint32Array | undefined)[] = []
  #count = 0

  constructor(fingerprint: Fingerprint) {
    this.#fingerprint = fingerprint
  }

  add(id: string, rowId: number): void {
    this.#put(this.#printOf(id), rowId)
  }

  /** Adds ids that are not known yet, in rows of their own, and returns the others. */
  addNew(ids: Iterable<string>): Set<string> {
    const known = new Set<string>()
    for (const id of ids) {
      const print = this.#printOf(id)
      if (this.#find(print, this.#slotOf(print)) >= 0) known.add(id)
      else this.#put(print, this.#count + 1)
    }
    return known
  }

  addRowsOf(id: string, rows: number[]): void {
    const print = this.#printOf(id)
    for (let slot = this.#find(print, this.#slotOf(print)); slot >= 0; slot = this.#find(print, this.#after(slot)))
      rows.push(this.#slots[slot] ?? 0)
  }

  /** The next slot, from this one on, with a row of such an id; -1 if there is none. */
  #find(print: number, from: number): number {
    for (let slot = from; ; slot = this.#after(slot)) {
      const rowId = this.#slots[slot] ?? 0
      if (rowId === 0) return -1
      if (this.#printAt(rowId) === print) return slot
    }
  }

  #printAt(rowId: number): number {
    return this.#prints[rowId >>> PART_BITS]?.[rowId & (2 ** PART_BITS - 1)] ?? 0
  }

  #slotOf(print: number): number {
    return Math.floor((print / 2 ** 32) * this.#slots.length)
  }

  #after(slot: number): number {
    return slot + 1 === this.#slots.length ? 0 : slot + 1
  }

  #printOf(id: string): number {
    // Here rather than by a Buffer: two million ids of a large list come through these lines.
    for (let at = 0; at < ID_LENGTH; at += 1) this.#text[at] = id.charCodeAt(at)
    return this.#fingerprint.id(this.#bytes, 0)
  }

  #put(print: number, rowId: number): void {
    if (8 * this.#count >= 7 * this.#slots.length) this.#grow()
    const part = (this.#prints[rowId >>> PART_BITS] ??= new Uint32Array(2 ** PART_BITS))
    part[rowId & (2 ** PART_BITS - 1)] = print
    this.#take(print, rowId)
    this.#count += 1
  }

  #take(print: number, rowId: number): void {
    let slot = this.#slotOf(print)
    while (this.#slots[slot] !== 0) slot = this.#after(slot)
    this.#slots[slot] = rowId
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Uint32Array(Math.ceil(before.length * GROWTH))
    for (let slot = 0; slot < before.length; slot += 1) {
      const rowId = before[slot] ?? 0
      if (rowId !== 0) this.#take(this.#printAt(rowId), rowId)
    }
  }
}
