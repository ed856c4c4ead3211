import type { OrderFacts } from '../../list/order-facts.ts'
import { RowSet } from '../../list/row-set.ts'
import type { Seam } from '../window/overlap.ts'
import type { ReadWindow } from '../window/read-window.ts'

/** The list as the last complete run read it, as far as its order goes. */
export type RememberedList = {
  /** The row numbers of its customers, in list order. */
  readonly rowIds: ArrayLike<number>
  /** The place of a row number in it; -1 if there is none. */
  placeOf(rowId: number): number
  /** Whether this run found the customer's fields changed since that run. */
  isChanged(rowId: number): boolean
}

/** A list of which nothing is remembered. */
const NO_LIST: RememberedList = { rowIds: [], placeOf: () => -1, isChanged: () => false }

/** Why the order of the list as last read is believed. */
export type OrderEvidence = {
  /** Customers whose fields changed since then, and who stand among the others as they did. */
  readonly changedWithoutMoving: number
  /** The fields that the rows are not sorted by. */
  readonly fieldsRuledOut: readonly string[]
  /** Over how many complete runs no customer moved, this one included. */
  readonly runs: number
}

/** Customers who changed without moving, before the order is believed. */
const ENOUGH_CHANGED = 8
/** Runs in a row, this one included, in which no customer moved. */
const ENOUGH_RUNS = 2
/** If more than one row in so many stands before one it stood after, the service has another order than before. */
const ANOTHER_ORDER = 20

/**
 * The order of the list as last read, as a witness: each customer known from it has a place there. The places are looked at when the
 * answer is needed, over all windows read until then, in whatever order they arrived; at rest each lies where it is expected.
 */
export class RememberedOrder {
  readonly #list: RememberedList
  readonly #before: OrderFacts
  readonly #log = new RowLog()
  /** How many rows of each window are known from the list, by the window's number. */
  readonly #knownIn: number[] = []
  readonly #changed = new RowSet()
  /** The seams of windows that were read at an end of the list again. */
  readonly #seamsAtEnds: Seam[] = []
  /** Rows read, how many of them are known, and how many of those stand before one that they stood after. */
  #rows = 0
  #known = 0
  #moved = 0
  #shift = 0

  constructor(list: RememberedList = NO_LIST, before: OrderFacts = {}) {
    this.#list = list
    this.#before = before
  }

  /** Whether the order can be believed at all, as far as is known before the list is read. */
  get isPossible(): boolean {
    const { fields, still = 0, direction } = this.#before
    const isRuledOut = fields !== undefined && fields.left.length === 0
    return this.#list.rowIds.length > 0 && isRuledOut && still + 1 >= ENOUGH_RUNS && direction === undefined
  }

  observe(read: Pick<ReadWindow, 'turn' | 'start' | 'keys'>): void {
    if (this.#list.rowIds.length > 0) this.#log.add(read)
  }

  /** Two neighbouring windows were read at an end of the list again. */
  linkAtEnd(seam: Seam): void {
    this.#seamsAtEnds.push(seam)
  }

  /** The evidence that the order spans a chain of windows linked by these seams; undefined where it does not. */
  evidence(seams: readonly Seam[]): OrderEvidence | undefined {
    if (!this.isPossible) return undefined
    this.#look()
    const isEnough = this.#changed.size >= ENOUGH_CHANGED && 2 * this.#known >= this.#rows
    if (this.#moved > 0 || !isEnough || !this.#hangTogether(seams)) return undefined
    if (!this.#seamsAtEnds.every(({ rowIds }) => this.#isAnyKnown(rowIds))) return undefined
    const { fields, still = 0 } = this.#before
    return {
      changedWithoutMoving: this.#changed.size,
      fieldsRuledOut: fields?.ruledOut ?? [],
      runs: still + 1,
    }
  }

  /** What the next scan should know, after the list was read to its end: nothing where there was no list to compare with. */
  facts(): Pick<OrderFacts, 'still' | 'fields'> {
    if (this.#list.rowIds.length === 0) return {}
    this.#look()
    const { fields, still = 0 } = this.#before
    if (this.#moved > 0) return { still: 0, fields: this.#isFieldOverlooked(fields) ? undefined : fields }
    return { still: this.#known === 0 ? 0 : still + 1, fields }
  }

  /** A customer who moved did so by a field that was not left: the rows have another order now, or it had one value until then. */
  #isFieldOverlooked(fields: OrderFacts['fields']): boolean {
    return fields?.left.length === 0 || this.#moved * ANOTHER_ORDER > this.#known
  }

  #look(): void {
    for (const { turn, start, rows } of this.#log.take()) this.#knownIn[turn] = this.#lookAt(rows, start)
  }

  /** Looks at the places of a window's rows; returns how many have one. */
  #lookAt(rows: Uint32Array, start: number): number {
    let [before, known] = [-1, 0]
    let expected = start + this.#shift
    for (let at = 0; at < rows.length; at += 1) {
      const rowId = rows[at] ?? 0
      const place = this.#list.rowIds[expected] === rowId ? expected : this.#list.placeOf(rowId)
      if (place < 0) continue
      if (place <= before) this.#moved += 1
      if (this.#list.isChanged(rowId)) this.#changed.add(rowId)
      if (known === 0) this.#shift = place - start - at
      known += 1
      before = place
      expected = place + 1
    }
    this.#rows += rows.length
    this.#known += known
    return known
  }

  /**
   * Whether the windows with known rows are linked with each other by known rows. Windows in which all rows are new may stand
   * before or after them, not in between: there rows that moved could stand behind the new ones.
   */
  #hangTogether(seams: readonly Seam[]): boolean {
    const hasKnown = (turn: number | undefined) => turn !== undefined && (this.#knownIn[turn] ?? 0) > 0
    let parts = 0
    let isInPart = hasKnown(seams[0]?.left)
    for (const { right, rowIds } of seams) {
      if (!this.#isAnyKnown(rowIds)) {
        parts += isInPart ? 1 : 0
        isInPart = false
      }
      isInPart ||= hasKnown(right)
    }
    return parts + (isInPart ? 1 : 0) <= 1
  }

  #isAnyKnown(rowIds: readonly number[]): boolean {
    return rowIds.some((rowId) => this.#list.placeOf(rowId) >= 0)
  }
}

/** The row numbers of the windows read, in the order of their arrival: four bytes a row, and a few numbers a window. */
class RowLog {
  #rows = new Uint32Array(1024)
  #used = 0
  #windows: { turn: number; start: number; end: number }[] = []

  add({ turn, start, keys }: Pick<ReadWindow, 'turn' | 'start' | 'keys'>): void {
    this.#makeRoomFor(keys.length)
    for (const key of keys) {
      // Rejects without a stored customer have their id instead, and forgotten customers a number below 0.
      if (typeof key !== 'number' || key <= 0) continue
      this.#rows[this.#used] = key
      this.#used += 1
    }
    this.#windows.push({ turn, start, end: this.#used })
  }

  /** The windows since the last call, each with its number, the position it starts at, and its rows. */
  *take(): Generator<{ turn: number; start: number; rows: Uint32Array }> {
    const windows = this.#windows
    this.#windows = []
    this.#used = 0
    let from = 0
    for (const { turn, start, end } of windows) {
      yield { turn, start, rows: this.#rows.subarray(from, end) }
      from = end
    }
  }

  #makeRoomFor(count: number): void {
    if (this.#used + count <= this.#rows.length) return
    const rows = new Uint32Array(Math.max(2 * this.#rows.length, this.#used + count))
    rows.set(this.#rows)
    this.#rows = rows
  }
}
