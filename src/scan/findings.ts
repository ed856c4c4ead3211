import { SeenRows } from '../model/row-set.ts'
import type { Reason } from '../model/reasons.ts'
import type { Seam } from './seam.ts'
import { windowAfter, windowAt, windowFrom, type ReadWindow, type Window, type WindowAnswer } from './window.ts'
import { allWitnesses } from './witness.ts'

/** A list is read in so many times the requests of a plain reading at most, and some more: short lists need those for every purpose. */
const MOST_READINGS = 3
const SOME_MORE = 40
/** After so many, seams that are not good are left as they are. */
const READINGS_WITH_REPAIRS = 1.5
/** Enough for a list of about twelve million rows. */
const MOST_REQUESTS = 150_000

/** Services that round page sizes do so to a multiple of this. */
export const ROUNDEST = 5

/** Rows that neighbours share at least: a single one may have moved itself. */
const USUAL_OVERLAP = 2

/** A total that rises, or falls, by so much from one answer to the next. */
const LEAP = 3

/** Whether search engines, and services built on them, stop counting there. */
export function isRoundCap(total: number): boolean {
  return total === 1000 || total === 10_000
}

/** What all stages of a scan have found out. */
export class Findings {
  /** The largest page to ask for. */
  size: number
  /** The service serves one size, or few: windows do not overlap. */
  isFixed: boolean
  /** Whether a full page of an odd size has shown that other sizes are served, and not rounded. */
  isExact = false
  /** As last stated by the service. */
  total: number | undefined
  greatestTotal = 0
  /** The list is as long as this for the limit of requests: one that grows as fast as it is read would raise it forever. */
  #firstTotal: number | undefined
  /** The position up to which rows were read. Behind the last page, some services send that page again: such rows do not count. */
  furthest = 0
  /** How many records were read that repeat none of another window, and how many records without an identity. */
  unrepeated = 0
  rejected = 0
  readonly flaws = new Set<Reason>()
  readonly seen = new SeenRows()
  readonly witnesses = allWitnesses()
  /** By how many rows the list was seen to change, all added up, and those of them from before an interruption, and during it. */
  changes = 0
  changesBefore = 0
  requests = 0
  reads = 0
  /** Where pages end although the total promises more. */
  limit: number | undefined
  /** How many rows neighbours should share; follows what the list needs. */
  #overlap = USUAL_OVERLAP
  /** By the turn of their answers. */
  readonly #totals: (number | undefined)[] = []
  readonly #leaps = { up: 0, down: 0 }
  #steps = 0
  #fallen = 0

  constructor(size: number, isFixed: boolean) {
    this.size = size
    this.isFixed = isFixed
  }

  /** `askedAt`: how many answers had come when it was asked for, if it was not read before an interruption. */
  observe(read: ReadWindow, { rows }: WindowAnswer, askedAt = 0): void {
    this.reads += 1
    const { size } = read.window
    this.isExact ||= read.reach - read.start === size && size < this.size && size % ROUNDEST > 0
    this.#observeTotal(read, askedAt)
    const before = this.seen.size
    for (const key of read.keys) this.seen.add(key)
    const fresh = this.seen.size - before + rows.length - read.places.size
    this.unrepeated += fresh
    if (fresh > 0) this.furthest = Math.max(this.furthest, read.reach)
    this.rejected += rows.length - read.keys.length
    if (read.places.size < read.keys.length) this.flaws.add('duplicate-id')
    this.witnesses.observe(read)
  }

  #observeTotal({ total, turn }: ReadWindow, askedAt: number): void {
    this.#totals[turn] = total
    if (total === undefined) return
    this.#firstTotal ??= total
    this.total = total
    this.greatestTotal = Math.max(this.greatestTotal, total)
    // Which of two answers is the older one is known only where one of them was asked for after the other had come.
    const change = total - (this.#totals[askedAt - 1] ?? total)
    if (Math.abs(change) >= LEAP) this.#leaps[change > 0 ? 'up' : 'down'] += 1
    else if (change !== 0) this.#steps += 1
    this.#fallen += Math.max(0, -change)
  }

  /** Whether totals leap up and down, as where a database lags: a list that changes so much has small steps too, or more rows than its total. */
  get areTotalsAtOdds(): boolean {
    const { up, down } = this.#leaps
    const isLeaping = Math.min(up, down) > 0 && up + down > this.#steps
    return isLeaping && this.seen.size - this.greatestTotal <= this.#fallen / 20
  }

  get rows(): number {
    return this.total ?? 0
  }

  get grown(): number {
    return Math.max(0, this.rows - (this.#firstTotal ?? 0))
  }

  get lacking(): number {
    return this.rows - this.seen.size
  }

  get overlap(): number {
    return Math.min(Math.ceil(this.size / 3), Math.round(this.#overlap))
  }

  /** A window linked with the one before it: those that follow may share less. */
  linked({ still, changes }: Seam): void {
    this.changes += changes
    this.#overlap = Math.max(USUAL_OVERLAP, this.#overlap - (still ? 0.5 : 0.04))
  }

  /** A window did not link although its position overlapped: those that follow share more, and at least `wanted`. */
  missed(wanted: number, more: number): void {
    this.#overlap = Math.min(this.size / 3, Math.max(this.#overlap, wanted) + more)
  }

  /** The window that goes on where others have come up to `end`. */
  windowBehind(end: number): Window {
    const { size, overlap, isFixed } = this
    if (end === 0 || isFixed) return windowAt(Math.ceil(end / size) * size, size)
    return windowAfter(end, overlap, size) ?? windowFrom(end, size)
  }

  /** The window that starts at or before a position and reaches furthest. */
  windowCovering(position: number): Window {
    const at = Math.max(0, position)
    return this.isFixed ? windowAt(at, this.size) : windowFrom(at, this.size)
  }

  /** A window of another size, and on another page, for one whose answer is of no use; the same one where there is none. */
  otherWindow(window: Window, reach: number): Window {
    if (this.isFixed || window.size < 3) return window
    if (reach === 0) return { page: 1, size: window.size - 1 }
    return windowAfter(reach, USUAL_OVERLAP, window.size - 1, window.page) ?? window
  }

  /** Windows are read side by side from now on. */
  fixSize(size = this.size): void {
    this.isFixed = true
    this.size = size
    this.flaws.add('no-overlap')
  }

  get plainRequests(): number {
    return Math.ceil((this.#firstTotal ?? this.furthest) / this.size)
  }

  get mayRepair(): boolean {
    return this.requests < READINGS_WITH_REPAIRS * this.plainRequests + SOME_MORE / 2
  }

  get mayAsk(): boolean {
    return this.requests < Math.min(MOST_REQUESTS, MOST_READINGS * this.plainRequests + SOME_MORE)
  }
}
