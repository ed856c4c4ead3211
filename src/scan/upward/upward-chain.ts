import { ChainProof } from '../proof/chain-proof.ts'
import type { Findings } from '../findings.ts'
import { MetAgain } from '../proof/met-again.ts'
import { overlapBetween, sharedPlaces } from '../window/overlap.ts'
import { isEnd, type ReadWindow } from '../window/read-window.ts'
import type { RowKey } from '../window/window.ts'

/** How many windows of a chain are kept: the rows of the topmost one may all have gone up since it was read. */
const MOST_KEPT = 3
/** Over how many seams shifts are remembered. */
const SEAMS = 16

/** A window, and how many windows had arrived when it was asked for. */
export type Answered = { readonly read: ReadWindow; readonly askedAt: number }

/** Windows that are linked from the end of the list upwards. */
export class UpwardChain {
  #proof: ChainProof
  /** Rows read at the top that were read further down before: they went up. */
  wentUp = 0
  /** The topmost windows of the chain, the topmost first; none at the start and above rows that could not be read. */
  #tops: readonly ReadWindow[] = []
  /** How far rows were pushed down at the last seams. */
  readonly #shifts: number[] = []
  /** Rows that stood at the top when the scan began. */
  #firstAtTop: ReadonlySet<RowKey> = new Set()

  readonly #findings: Findings
  metAgain = new MetAgain()
  /** The lowest window. */
  lowest: ReadWindow | undefined
  #isRecalling = false

  constructor(findings: Findings) {
    this.#findings = findings
    this.#proof = new ChainProof(findings)
  }

  get proof(): ChainProof {
    return this.#proof
  }

  get top(): ReadWindow | undefined {
    return this.#tops[0]
  }

  /** How far rows were pushed down at the last seams, except for the two at which they were pushed furthest. */
  get push(): number {
    return Math.max(0, this.#shifts.toSorted((one, other) => other - one).at(2) ?? 0)
  }

  /** The top of the list was read for the first time. */
  openedBy({ keys }: ReadWindow): void {
    this.#firstAtTop = new Set(keys)
  }

  /** Begins the chain, or begins it again above rows that could not be read. */
  begin(read: ReadWindow): void {
    this.#proof.begin()
    this.metAgain.addRows(read.keys.length)
    this.#tops = [read]
    this.lowest = read
  }

  cut(): void {
    this.#proof.cut()
    this.#tops = []
  }

  /** Puts a window on top of the chain; false where it does not link. */
  extend(upper: Answered): boolean {
    const lower = this.below(upper)
    if (lower === undefined) return false
    if (upper.read.start === 0) this.#countWentUp(upper.read, upwardSeamBetween(upper.read, lower).firstKept)
    this.link(upper.read, lower)
    this.#raise(upper.read)
    return true
  }

  /** Puts windows on top of the chain of which the lowest links; false where it does not. */
  extendBy(lowest: Answered, highest: ReadWindow): boolean {
    const lower = this.below(lowest)
    if (lower === undefined) return false
    if (highest.start === 0) this.#countWentUp(highest, highest.keys.length)
    this.link(lowest.read, lower)
    this.#raise(lowest.read)
    this.#raise(highest)
    return true
  }

  /** A window read before an interruption, below those recalled before it. */
  recall(read: ReadWindow): void {
    const above = this.lowest
    this.#isRecalling = true
    this.lowest = read
    if (above === undefined || !areLinked(above, read)) return this.#beginAnew(read)
    this.link(above, read, read)
    if (this.#tops.length < MOST_KEPT) this.#tops = [...this.#tops, read]
  }

  /** All windows were recalled: they are a chain only where the last of them holds the end of the list. */
  endRecall(): void {
    const { lowest } = this
    if (this.#isRecalling && lowest !== undefined && !isEnd(lowest)) {
      this.#forget()
    }
    this.#isRecalling = false
  }

  #beginAnew(read: ReadWindow): void {
    this.#forget()
    this.begin(read)
  }

  #forget(): void {
    this.#proof = new ChainProof(this.#findings)
    this.#tops = []
    this.metAgain = new MetAgain()
  }

  /** Begins the chain again with windows of which the lowest holds the end of the list. */
  beginBy(lowest: ReadWindow, highest: ReadWindow): void {
    this.begin(lowest)
    if (highest !== lowest) this.#raise(highest)
  }

  /** The window of the chain that a window links to. */
  below({ read, askedAt }: Answered): ReadWindow | undefined {
    return this.#tops.find((lower) =>
      areLinked(read, lower, { mayMove: askedAt > lower.turn && read.start === 0 && lower.start === 0 }),
    )
  }

  /** Takes note of a seam that holds; `added` is the one of the two that is new. */
  link(upper: ReadWindow, lower: ReadWindow, added = upper): void {
    const overlap = overlapBetween(upper, lower)
    // That rows were pushed down far, or went up, is what is expected of this order.
    this.#proof.link({ ...overlap, reordered: false, displaced: false }, { left: upper, read: lower })
    this.#count(added, [added === upper ? lower : upper, ...this.#tops.filter((top) => top !== added)])
    this.metAgain.addSeam(overlap)
    this.#shifts.push(upwardSeamBetween(upper, lower).shift)
    if (this.#shifts.length > SEAMS) this.#shifts.shift()
  }

  /** Counts the rows of a window that its neighbours do not have. */
  #count({ keys }: ReadWindow, neighbours: readonly ReadWindow[]): void {
    const near = new Set(neighbours.flatMap((window) => window.keys))
    this.metAgain.addRows(keys.filter((key) => !near.has(key)).length)
  }

  #raise(read: ReadWindow): void {
    this.#tops = [read, ...this.#tops].slice(0, MOST_KEPT)
  }

  /** Counts the rows before a place in a window at the top that were read before, in neither the chain below nor the windows at the top. */
  #countWentUp(read: ReadWindow, end: number): void {
    const near = new Set(this.#tops.flatMap(({ keys }) => keys))
    const isFromBelow = (key: RowKey | undefined) => key !== undefined && !near.has(key) && !this.#firstAtTop.has(key)
    const places = read.again.filter((place) => place < end && isFromBelow(read.keys[place]))
    this.wentUp = Math.max(this.wentUp, places.length)
  }
}

/** Whether no row that kept its place is between two windows: they share rows, and it is not those that moved. */
export function areLinked(upper: ReadWindow, lower: ReadWindow, { mayMove = false } = {}): boolean {
  const seam = upwardSeamBetween(upper, lower)
  return isLinked(seam, { mayMove }) && !isLifted(upper, lower, seam.shift)
}

/**
 * Whether shared rows rose so far that it is most likely they that moved, or that belong to another page: by half a page. A row that
 * keeps its place rises only as others above it leave, which makes the total as much smaller.
 */
function isLifted(upper: ReadWindow, lower: ReadWindow, shift: number): boolean {
  const grown = (upper.total ?? 0) - (lower.total ?? 0)
  const [risen, shrunk] = upper.turn > lower.turn ? [-shift, -grown] : [shift, grown]
  const far = upper.total === lower.total ? -shift : risen - Math.max(0, shrunk)
  return far >= lower.window.size / 2
}

/** How a window compares with the one below it, in a list whose rows only move to the top. */
export type UpwardSeam = {
  /** Rows in both, in the same order in both, at the end of the upper window. */
  readonly kept: number
  /** The place of the first of them in the upper window. */
  readonly firstKept: number
  /** Other rows are in both: they stand above the shared rows, and stood elsewhere among them in the lower window. */
  readonly moved: number
  /** The most rows that stand among those in one of the windows, and not in the other. */
  readonly strange: number
  /** No row can stand between the two: the last row of the upper window is in the lower one. */
  readonly meets: boolean
  /** How far a row that kept its place was pushed towards the end, from the lower window to the upper one. */
  readonly shift: number
}

/** Fewer rows may be in the same order by chance where two windows meet, and anywhere. */
const ENOUGH_KEPT = 2
const CERTAIN_KEPT = 8
const NOTHING_SHARED: UpwardSeam = { kept: 0, firstKept: 0, moved: 0, strange: 0, meets: false, shift: 0 }

/** Compares a window with the one below it, whichever was read first. */
export function upwardSeamBetween(upper: ReadWindow, lower: ReadWindow): UpwardSeam {
  const shared = sharedPlaces(lower, upper).map(([inUpper, inLower]) => ({ inUpper, inLower }))
  const last = shared.at(-1)
  if (last === undefined) return NOTHING_SHARED
  let [kept, first] = [1, last]
  for (let before = shared.at(-2); before !== undefined; before = shared.at(-kept - 1)) {
    if (before.inLower >= first.inLower) break
    ;[kept, first] = [kept + 1, before]
  }
  // Rows at the beginning of the lower window are in the upper one too, if that begins further up.
  const from = first.inUpper > 0 ? 0 : first.inLower
  const strange = Math.max(last.inUpper - first.inUpper, last.inLower - from) + 1 - kept
  const meets = last.inUpper === upper.keys.length - 1 || last.inLower === lower.keys.length - 1
  const shift = upper.start + last.inUpper - lower.start - last.inLower
  return { kept, firstKept: first.inUpper, moved: shared.length - kept, strange, meets, shift }
}

/**
 * Whether two windows share rows that kept their order, enough to rule out chance: two where the windows meet, with few unshared rows
 * among them, or several anywhere. `mayMove`: both windows are the top, read a second time, so other rows may have gone up meanwhile and
 * stand above the shared ones.
 */
export function isLinked(seam: UpwardSeam, { mayMove }: { mayMove: boolean }): boolean {
  const { kept, moved, strange, meets } = seam
  if (moved > 0 && (!mayMove || moved >= kept)) return false
  return kept >= CERTAIN_KEPT || (meets && kept >= ENOUGH_KEPT && strange <= kept / 2)
}
