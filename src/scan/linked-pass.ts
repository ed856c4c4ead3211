import type { PassProof } from './certificate.ts'
import { ChainEnds } from './chain-ends.ts'
import type { Facts } from './facts.ts'
import { doubtOf, isBeyondEnd, isBlank, isDoubtful, isEnd, type Held } from './held.ts'
import { Ledger } from './ledger.ts'
import { LookBack } from './look-back.ts'
import { bridge, holds } from './mend.ts'
import { OtherSizes } from './other-sizes.ts'
import type { Pass, PassFailure } from './pass.ts'
import { windowOnward } from './planner.ts'
import type { Reason } from './reasons.ts'
import { repeats, type Seam, seamBetween } from './seam.ts'
import { askAnew, type Slot, Slots } from './slots.ts'
import { Unread } from './unread.ts'
import { endOf, startOf, type StoppedAt, type Window } from './window.ts'

/** Tries of a window that failed or makes no sense; fewer of one whose rows moved so far that it is likelier another page. */
const [MOST_TRIES, FEW_TRIES] = [5, 2]

/**
 * Reads the list forward as a chain of overlapping windows. Windows are asked for ahead and may arrive in any order;
 * each is linked to its left neighbour when its turn comes, and a link that does not hold is mended by stepping back.
 */
export class LinkedPass implements Pass {
  readonly #facts: Facts
  readonly #chain: Ledger
  readonly flaws = new Set<Reason>()
  /** Planned, asked and held windows to the right of the chain, nearest first. */
  readonly #slots: Slots
  /** The last window of the chain; undefined at the start and after positions nobody could read. */
  #last: Held | undefined
  /** Where the chain ends. */
  #reach = 0
  #overlap: number
  #attempts = 0
  readonly #lookBack: LookBack
  readonly #unread = new Unread()
  readonly #otherSizes = new OtherSizes()
  readonly ends = new ChainEnds()
  over = false
  complete = false
  stoppedAt: StoppedAt | undefined

  constructor(facts: Facts, overlap: number) {
    this.#facts = facts
    this.#chain = new Ledger(facts)
    this.#overlap = overlap
    this.#lookBack = new LookBack(facts)
    this.#slots = new Slots([{ page: 1, size: facts.pageSize }])
  }

  get obstacles(): readonly Reason[] {
    return this.#chain.obstacles
  }

  proof(): PassProof | undefined {
    return this.complete && this.flaws.size === 0 ? this.#chain.proof() : undefined
  }

  next(): Window | undefined {
    const slot = this.#slots.notAsked() ?? this.#planAhead()
    if (slot === undefined) return undefined
    slot.asked = true
    return slot.window
  }

  take(asked: Window, held: Held): void {
    const slot = this.#slots.waitingFor(asked)
    if (slot === undefined) return
    slot.asked = true
    slot.held = held
    this.#settle()
  }

  failed(window: Window, failure: PassFailure): void {
    const slot = this.#slots.waitingFor(window)
    if (slot === undefined) return
    slot.failure = failure
    this.#settle()
  }

  /** A window read before an interruption. To be given in the order of their positions, before anything else. */
  recall(held: Held): void {
    const isFirst = this.#reach === 0 && held.start === 0
    const slot = isFirst ? this.#slots.nearest : this.#slots.placeFor(held.window)
    if (slot === undefined) return
    slot.asked = true
    slot.held = held
    this.#settle()
  }

  stop(reason: Reason): void {
    this.flaws.add(reason)
    this.over = true
  }

  #planAhead(): Slot | undefined {
    if (this.#slots.empty) return this.#slots.add(this.#windowAfter(this.#reach))
    const goesOn = this.#reach > 0 && this.#slots.end <= this.#facts.total && !this.#lookBack.underWay
    return goesOn && !this.#slots.full ? this.#slots.add(this.#windowAfter(this.#slots.end)) : undefined
  }

  #windowAfter(end: number): Window {
    const { pageSize, avoid } = this.#facts
    const { window, overlaps } = windowOnward(end, this.#overlap, pageSize, avoid)
    if (!overlaps) this.flaws.add('no-overlap')
    return window
  }

  #settle(): void {
    while (!this.over) {
      const slot = this.#slots.nearest
      if (slot?.failure !== undefined) this.#settleFailure(slot, slot.failure)
      else if (slot?.held !== undefined) this.#settleHeld(slot, slot.held)
      else return
    }
  }

  #settleFailure(slot: Slot, failure: PassFailure): void {
    if (failure === 'size-refused') return this.#stopAt(slot.window, failure)
    if (failure === 'hole') return this.#skip(slot, failure)
    if (failure === 'cached-answer' || failure === 'too-large') return this.#askOtherwise(slot, failure)
    if (this.#reach > 0 && startOf(slot.window) >= this.#facts.total) return this.#stepBack(slot)
    this.#tryAgain(slot, failure === 'flaky' ? 'hole' : failure)
  }

  #settleHeld(slot: Slot, held: Held): void {
    if (isBeyondEnd(held) && this.#reach > 0) return this.#stepBack(slot)
    if (held.notFound && this.#reach > 0) return this.#settleNotFound(slot)
    if (isDoubtful(held)) return this.#tryAgain(slot, doubtOf(held))
    const left = this.#last
    if (left === undefined) return this.#link(slot, held)
    const seam = seamBetween(left, held)
    const isMisplaced = repeats(left, held) || (seam.displaced && this.#attempts < FEW_TRIES)
    if (isMisplaced) return this.#tryAgain(slot, 'repeated-page')
    if (holds(seam, left, this.#attempts, this.#chain, this.#facts)) return this.#link(slot, held, seam)
    if (seam.shared === 0) this.#facts.note('link-broken')
    this.#overlap = Math.min(Math.ceil(this.#facts.pageSize / 5), this.#overlap + 2)
    this.#attempts += 1
    if (slot.bridge) this.#slots.remove(slot)
    const { refusedAt, exhausted } = this.#lookBack
    if (refusedAt === undefined) this.#slots.addBridge(bridge(left, this.#attempts, this.#facts, slot.window))
    // What lies between the two was refused; pages further back know whether the list has become shorter.
    else if (!exhausted) this.#slots.addBridge(this.#lookBack.next(left, slot.window, this.#windowAfter(this.#reach)))
    else this.#stopAt(refusedAt.window, refusedAt.failure)
  }

  #link(slot: Slot, held: Held, seam?: Seam): void {
    if (seam === undefined) this.#chain.begin()
    else this.#chain.link(seam)
    this.#slots.remove(slot)
    this.#slots.removeUpTo(held.reach)
    this.ends.extend(this.#last, held)
    this.#last = held
    this.#reach = held.reach
    this.#attempts = 0
    this.#unread.clear()
    this.#lookBack.reached(held.reach)
    if (isEnd(held)) this.#conclude()
  }

  /** The list ended before this window; where the chain has not ended, the list has become shorter. */
  #stepBack(slot: Slot): void {
    this.#slots.remove(slot)
    if (!this.#slots.empty) return
    if (this.#last === undefined || this.flaws.size > 0) return this.#conclude()
    this.#attempts += 1
    this.#slots.addBridge(bridge(this.#last, this.#attempts, this.#facts, slot.window))
  }

  #settleNotFound(slot: Slot): void {
    if (startOf(slot.window) >= this.#facts.total) return this.#stepBack(slot)
    if (!this.#lookBack.hasBegun && this.#attempts < FEW_TRIES) return this.#tryAgain(slot, 'short-page')
    if (!this.#looksBack(slot, 'not-found')) this.#stopAt(slot.window, 'not-found')
  }

  /** Takes the window for one beyond the end, and asks for one before it; false when all of that was tried. */
  #looksBack(slot: Slot, failure: 'not-found' | 'page-mismatch'): boolean {
    if (this.#lookBack.exhausted) return false
    this.#slots.remove(slot)
    this.#lookBack.refused(slot.window, failure)
    if (!this.#slots.empty) return true
    this.#slots.addBridge(this.#lookBack.next(this.#last, slot.window, this.#windowAfter(this.#reach)))
    return true
  }

  /** Asks for the window again, then for others in its place, then goes on without and says so. */
  #tryAgain(slot: Slot, reason: Reason): void {
    this.#facts.note(reason)
    this.#attempts += 1
    const isKnown = this.flaws.has(reason) || (this.#lookBack.underWay && reason === 'page-mismatch')
    if (this.#attempts > MOST_TRIES || isKnown) return this.#giveUp(slot, reason)
    askAnew(slot)
    if (this.#last === undefined || this.#attempts % 2 === 1) return
    this.#facts.avoidPage(slot.window.page)
    this.#slots.replace(slot, this.#windowAfter(this.#last.reach))
  }

  /** Asks for what came out of a cache in another size, once, and for what was too large in ever smaller ones. */
  #askOtherwise(slot: Slot, failure: 'cached-answer' | 'too-large'): void {
    const otherwise = this.#otherSizes.insteadOf(slot.window, failure, this.#reach, this.#last ? this.#overlap : 0)
    if (otherwise === undefined) this.#skip(slot, failure)
    else this.#slots.replace(slot, otherwise)
    // With nothing but old answers nothing is known of the end either.
    if (this.#unread.count > FEW_TRIES && this.#reach >= this.#facts.total) this.stop(failure)
  }

  #giveUp(slot: Slot, reason: Reason): void {
    const held = slot.held
    if (reason === 'page-mismatch' && this.#reach > 0 && this.#looksBack(slot, reason)) return
    this.flaws.add(reason)
    if (reason === 'short-page') {
      // A page without a row is no progress, wherever it would lie: else a list with too high a total had no end.
      const isProgress = held !== undefined && held.all.length > 0 && held.reach > this.#reach
      return isProgress ? this.#link(slot, held, this.#last && seamBetween(this.#last, held)) : this.#skip(slot, reason)
    }
    if (reason === 'hole') return this.#skip(slot, reason)
    const isPromised = startOf(slot.window) < this.#facts.total
    if (isPromised && held !== undefined && isBlank(held)) return this.#stopAt(slot.window, 'not-found')
    if (reason === 'page-mismatch' || reason === 'repeated-page') return this.#stopAt(slot.window, reason)
    this.over = true
  }

  #stopAt(window: Window, failure: StoppedAt['failure']): void {
    this.stoppedAt = { window, failure }
    this.stop(failure === 'not-found' ? 'short-page' : failure)
  }

  /** Leaves positions unread and goes on behind them, a few times: then the list has most likely ended. */
  #skip(slot: Slot, reason: Reason): void {
    this.flaws.add(reason)
    this.#unread.add(slot, { chainEnds: this.#last === undefined ? 0 : this.#reach })
    this.#chain.cut()
    this.#slots.remove(slot)
    this.#slots.removeUpTo(endOf(slot.window))
    this.#last = undefined
    this.#attempts = 0
    this.#reach = Math.max(this.#reach, endOf(slot.window))
    const { count, emptied } = this.#unread
    if (reason !== 'short-page' || count <= FEW_TRIES) return
    if (emptied === undefined) this.#conclude()
    else this.#stopAt(emptied, 'not-found')
  }

  #conclude(): void {
    this.complete = true
    this.over = true
  }
}
