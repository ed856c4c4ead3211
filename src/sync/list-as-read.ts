import { addWarnings, type Warnings } from '../model/customer.ts'
import { emptyColumns, stretch, UNKNOWN, type ListAsRead, type ListColumns } from '../model/list-as-read.ts'
import type { RowSet } from '../model/row-set.ts'
import type { Run } from '../model/run.ts'

/**
 * The list as the last complete run read it. It answers which customer a record is known to be, without asking the mirror. Why the
 * answer can be trusted: the list holds the fingerprint of a record only if that run found the customer stored as that record; customers
 * written since, by a run or by hand, are `doubted`; so the same fingerprint with the same id means that the customer is stored as received.
 */
export class KnownList {
  readonly list: ListAsRead
  readonly #doubted: RowSet
  /** Customers this run has written; grows while the run lasts. */
  readonly #written: RowSet
  /** Made when a record is not where it was expected: a night at rest meets all in their order. */
  #index: PlaceIndex | undefined
  /** The different warnings of records, those of this run among them; the first is empty. */
  readonly warnings: Warnings[]
  readonly #oddities: Map<string, number>

  constructor(list: ListAsRead, { doubted, written }: Pick<Run, 'doubted' | 'written'>) {
    this.list = list
    this.#doubted = doubted
    this.#written = written
    this.warnings = [...list.warnings]
    this.#oddities = new Map(this.warnings.map((kind, number) => [JSON.stringify(kind), number]))
  }

  /** The place of the customer with this record, by its fingerprint and that of its id, or -1. Orders mostly stay: `likely` is looked at first. */
  placeOf(fingerprint: number, idFingerprint: number, likely: number): number {
    if (fingerprint === UNKNOWN) return -1
    const { fingerprints, idFingerprints, rowIds } = this.list.columns
    let place = likely
    if (fingerprints[likely] !== fingerprint) place = (this.#index ??= PlaceIndex.over(fingerprints)).find(fingerprint)
    if (place < 0 || idFingerprints[place] !== idFingerprint) return -1
    // A customer that may have been written since may be stored otherwise.
    const rowId = rowIds[place] ?? 0
    return this.#doubted.has(rowId) || this.#written.has(rowId) ? -1 : place
  }

  warningsAt(place: number): Warnings {
    return this.warnings[this.list.columns.oddities[place] ?? 0] ?? {}
  }

  /** The warnings of the records at `[from, to)`, added up. */
  warningsOf(from: number, to: number): Warnings {
    const warnings: Warnings = {}
    if (this.list.warnings.length === 1) return warnings
    for (let place = from; place < to; place += 1) addWarnings(warnings, this.warningsAt(place))
    return warnings
  }

  /** The number of these warnings, for the column; undefined where there is no room for another kind of them. */
  oddityOf(warnings: Warnings): number | undefined {
    const kind = JSON.stringify(warnings)
    const known = this.#oddities.get(kind)
    if (known !== undefined || this.warnings.length > MOST_ODDITIES) return known
    const oddity = this.warnings.push(warnings) - 1
    this.#oddities.set(kind, oddity)
    return oddity
  }
}

/** The most kinds of warnings that fit into one byte. */
const MOST_ODDITIES = 255

/** What it takes to know the records of a window again: entry `n` of each column belongs to record `n`. */
export type Marks = Omit<ListColumns, 'rowIds'>

/** A window that was read: its `count` records are in `columns`, from `from` on. */
export type WindowRead = {
  /** Position of its first record in the list. */
  readonly start: number
  readonly columns: ListColumns
  readonly from: number
  readonly count: number
}

/** Collects the windows that a run reads, for the list that it leaves behind; some 20 bytes a record. */
export class ListRecorder {
  readonly #windows = new Map<string, WindowRead>()
  readonly #known: KnownList
  /** Windows share columns: as small ones of their own they would take twice the memory. */
  #shared = emptyColumns(0)
  #taken = 0

  constructor(known: KnownList) {
    this.#known = known
  }

  /**
   * A window whose records were read: their row numbers, 0 for one without a customer and below for a forgotten one; what it takes to know them
   * again; and their place in the list as last read, where they stand together there. It replaces what was recorded of the window before.
   */
  add(
    { start, size }: { start: number; size: number },
    rowIds: ArrayLike<number>,
    { marks, listedAt }: { marks?: Marks | undefined; listedAt?: number | undefined } = {},
  ): void {
    const count = rowIds.length
    const from = listedAt ?? this.#put(rowIds, marks)
    const columns = listedAt === undefined ? this.#shared : this.#known.list.columns
    this.#windows.set(`${start}/${size}`, { start, columns, from, count })
  }

  /** Puts a window behind those that share its columns, and returns its place there. */
  #put(rowIds: ArrayLike<number>, marks: Marks | undefined): number {
    const from = this.#taken + rowIds.length <= this.#shared.rowIds.length ? this.#taken : 0
    if (from === 0)
      this.#shared = emptyColumns(Math.max(rowIds.length, Math.min(SHARED, 2 * this.#shared.rowIds.length)))
    this.#taken = from + rowIds.length
    for (let at = 0; at < rowIds.length; at += 1) this.#shared.rowIds[from + at] = Math.max(0, rowIds[at] ?? 0)
    if (marks === undefined) return from
    this.#shared.fingerprints.set(marks.fingerprints, from)
    this.#shared.idFingerprints.set(marks.idFingerprints, from)
    this.#shared.comparisons.set(marks.comparisons, from)
    this.#shared.oddities.set(marks.oddities, from)
    return from
  }

  /**
   * The list a complete run leaves behind: its windows in the order of their positions. A customer who was not met in an earlier window stands
   * beside its neighbours there: positions shift while a scan reads, neighbours do not. One that came with two different records is kept without
   * a fingerprint, since only one of them is stored. `customers`: the most that the windows can have. To be called once: it frees the windows.
   */
  next(customers: number): Pick<ListAsRead, 'columns' | 'warnings'> {
    const windows = [...this.#windows.values()].toSorted((one, other) => one.start - other.start)
    const known = this.#known
    if (isUnchanged(windows, known.list.columns)) return { columns: known.list.columns, warnings: known.list.warnings }
    const gathered = gather(windows, known.list.columns, customers)
    const columns = inOrder(gathered)
    release([...Object.values(gathered.ring ?? {}), gathered.followers, gathered.index])
    if (columns.rowIds.buffer !== gathered.columns.rowIds.buffer) release(Object.values(gathered.columns))
    return { columns, warnings: known.warnings }
  }
}

/** The most records of windows that share columns: short lists need few. */
const SHARED = 10_000

/** Whether the windows hold the customers of a list, all of them and in order; one behind its last full page is empty. */
function isUnchanged(windows: readonly WindowRead[], list: ListColumns): boolean {
  let reach = 0
  for (const { columns, from, count } of windows) {
    if (count === 0) continue
    if (columns !== list || from > reach || from + count < reach) return false
    reach = from + count
  }
  return reach === list.rowIds.length && reach > 0
}

/** An order of customers, which are numbered from 1: 0 stands between the last and the first. */
type Ring = { readonly next: Int32Array; readonly previous: Int32Array }

/** Customers in the order in which they were added, numbered from 1. Entry `n` of the columns, and of `followers`, belongs to customer `n + 1`. */
type Gathered = {
  readonly columns: ListColumns
  readonly index: PlaceIndex
  /** The row with which each was compared. */
  readonly followers: Uint32Array
  count: number
  /** Their order in the list, once that is another one: with it, a million takes 8 MB more. */
  ring?: Ring
}

function gather(windows: readonly WindowRead[], list: ListColumns, room: number): Gathered {
  const columns = emptyColumns(room)
  const index = new PlaceIndex(columns.rowIds)
  const gathered: Gathered = { columns, index, followers: new Uint32Array(room), count: 0 }
  const last = new Map(windows.map((window) => [window.columns, window]))
  let reach = 0
  for (const window of windows) {
    appendWindow(window, gathered, reach)
    reach = Math.max(reach, window.start + window.count)
    if (window.columns !== list && last.get(window.columns) === window) release(Object.values(window.columns))
  }
  return gathered
}

/** Gives memory back at once: what stores the list needs it, before V8 looks for what is gone. */
function release(arrays: readonly { buffer: ArrayBufferLike }[]): void {
  for (const { buffer } of arrays) if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** `reach`: where the windows before it end. A new row behind that goes to the end, unless a known one follows it in this window. */
function appendWindow({ start, columns: source, from, count }: WindowRead, gathered: Gathered, reach: number): void {
  const { columns, index, followers } = gathered
  const to = from + count
  let before = 0
  for (let at = from; at < to; at += 1) {
    const rowId = source.rowIds[at] ?? 0
    let entry = index.find(rowId)
    if (entry < 0 && rowId !== 0) {
      const isKnownPlace = before > 0 && (start + at - from < reach || before === lastOf(gathered))
      const behind = isKnownPlace ? before : placeBefore(gathered, source, at + 1, to)
      entry = gathered.count++
      copyEntry(source, at, columns, entry)
      seat(gathered, entry + 1, behind)
      index.add(entry)
    } else if (entry >= 0 && source.fingerprints[at] !== columns.fingerprints[entry]) {
      columns.fingerprints[entry] = UNKNOWN
    }
    if (entry < 0) continue
    before = entry + 1
    const comparison = at + 1 < to ? (source.comparisons[at] ?? 0) : 0
    if (comparison === 0) continue
    columns.comparisons[entry] = comparison
    followers[entry] = source.rowIds[at + 1] ?? 0
  }
}

/** The customer before one whose place the rows before it do not show: that before the next known customer of the window, or the last one so far. */
function placeBefore(gathered: Gathered, source: ListColumns, from: number, to: number): number {
  const { index, ring } = gathered
  for (let at = from; at < to; at += 1) {
    const entry = index.find(source.rowIds[at] ?? 0)
    if (entry >= 0) return ring === undefined ? entry : (ring.previous[entry + 1] ?? 0)
  }
  return lastOf(gathered)
}

function lastOf({ ring, count }: Gathered): number {
  return ring === undefined ? count : (ring.previous[0] ?? 0)
}

/** Seats the customer that was added last. */
function seat(gathered: Gathered, customer: number, behind: number): void {
  if (gathered.ring === undefined && behind === customer - 1) return
  const { next, previous } = (gathered.ring ??= ringOf(customer - 1, gathered.columns.rowIds.length))
  const follower = next[behind] ?? 0
  next[behind] = customer
  previous[customer] = behind
  next[customer] = follower
  previous[follower] = customer
}

/** As many customers in their order, with room for others. */
function ringOf(count: number, room: number): Ring {
  const [next, previous] = [new Int32Array(room + 1), new Int32Array(room + 1)]
  for (let customer = 0; customer < count; customer += 1) {
    next[customer] = customer + 1
    previous[customer + 1] = customer
  }
  previous[0] = count
  return { next, previous }
}

/** The same customers in the order of the list. Two that were neighbours in a window compare as they did there. */
function inOrder({ columns: gathered, ring, followers, count }: Gathered): ListColumns {
  // As they were gathered, if nothing moved: a second list of a million takes 18 MB.
  const columns = ring === undefined ? stretch(gathered, 0, count) : emptyColumns(count)
  const nextOf = (customer: number) => ring?.next[customer] ?? (customer + 1) % (count + 1)
  let place = 0
  for (let customer = nextOf(0); customer !== 0; customer = nextOf(customer)) {
    const entry = customer - 1
    if (ring !== undefined) copyEntry(gathered, entry, columns, place)
    const follower = gathered.rowIds[nextOf(customer) - 1]
    columns.comparisons[place] = follower === followers[entry] ? (gathered.comparisons[entry] ?? 0) : 0
    place += 1
  }
  return columns
}

function copyEntry(from: ListColumns, at: number, to: ListColumns, place: number): void {
  to.rowIds[place] = from.rowIds[at] ?? 0
  to.fingerprints[place] = from.fingerprints[at] ?? UNKNOWN
  to.idFingerprints[place] = from.idFingerprints[at] ?? UNKNOWN
  to.oddities[place] = from.oddities[at] ?? 0
}

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

  get buffer(): ArrayBufferLike {
    return this.#slots.buffer
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
