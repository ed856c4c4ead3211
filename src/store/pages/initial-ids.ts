import type { Fingerprint } from '../../model/fingerprint.ts'

const SLOTS = 1 << 13
const GROWTH = 1.25
const ID_LENGTH = 36

/** Rows of an initial sync by their ids, in some 10 bytes a customer; they may be of another, or of a failed transaction: the caller compares. */
export class InitialIds {
  /** With a key, so that a service cannot make a list for which this takes long. */
  readonly #fingerprint: Fingerprint
  readonly #text = new Uint8Array(ID_LENGTH)
  readonly #bytes = new DataView(this.#text.buffer)
  /** A hash table of pairs: the fingerprint of an id, and its row, which is 0 in a free place. */
  #pairs = new Uint32Array(2 * SLOTS)
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
      if (this.#find(print, this.#placeOf(print)) >= 0) known.add(id)
      else this.#put(print, this.#count + 1)
    }
    return known
  }

  addRowsOf(id: string, rows: number[]): void {
    const print = this.#printOf(id)
    for (let at = this.#find(print, this.#placeOf(print)); at >= 0; at = this.#find(print, this.#after(at)))
      rows.push(this.#pairs[at + 1] ?? 0)
  }

  /** The next place, from this one on, with a row of such an id; -1 if there is none. */
  #find(print: number, from: number): number {
    for (let at = from; this.#pairs[at + 1] !== 0; at = this.#after(at)) if (this.#pairs[at] === print) return at
    return -1
  }

  #placeOf(print: number): number {
    return 2 * Math.floor((print / 2 ** 33) * this.#pairs.length)
  }

  #after(at: number): number {
    return at + 2 === this.#pairs.length ? 0 : at + 2
  }

  #printOf(id: string): number {
    // Here rather than by a Buffer: two million ids of a large list come through these lines.
    for (let at = 0; at < ID_LENGTH; at += 1) this.#text[at] = id.charCodeAt(at)
    return this.#fingerprint.id(this.#bytes, 0)
  }

  #put(print: number, rowId: number): void {
    if (16 * this.#count >= 7 * this.#pairs.length) this.#grow()
    let at = this.#placeOf(print)
    while (this.#pairs[at + 1] !== 0) at = this.#after(at)
    this.#pairs[at] = print
    this.#pairs[at + 1] = rowId
    this.#count += 1
  }

  /** Gives their memory back at once, before V8 looks for what is gone. Nothing is to be asked or added after it. */
  release(): void {
    this.#pairs.buffer.transfer(0)
  }

  #grow(): void {
    const before = this.#pairs
    this.#pairs = new Uint32Array(2 * Math.ceil((before.length / 2) * GROWTH))
    this.#count = 0
    for (let at = 0; at < before.length; at += 2) {
      const rowId = before[at + 1] ?? 0
      if (rowId !== 0) this.#put(before[at] ?? 0, rowId)
    }
    before.buffer.transfer(0)
  }
}
