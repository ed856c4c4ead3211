import type { PassProof } from './certificate.ts'
import type { Facts } from './facts.ts'
import { doubtOf, isBeyondEnd, isDoubtful, isEnd, type Held } from './held.ts'
import { Ledger } from './ledger.ts'
import type { Pass, PassFailure } from './pass.ts'
import type { Reason } from './reasons.ts'
import { seamBetween } from './seam.ts'
import { type Slot, Slots } from './slots.ts'
import { startOf, type StoppedAt, type Window } from './window.ts'

const MOST_TRIES = 2
/** Pages not found where rows are promised, after which no more is asked for. */
const MOST_NOT_FOUND = 8

/**
 * Reads a plan of windows known beforehand, in either direction, and mends nothing. It looks for customers the passes
 * before have overlooked; where its windows overlap and all stand still, it is a proof as well.
 */
export class SweepPass implements Pass {
  readonly #facts: Facts
  readonly #plan: readonly Window[]
  readonly #backward: boolean
  readonly #overlapping: boolean
  readonly #chain: Ledger
  readonly flaws = new Set<Reason>()
  readonly #slots = new Slots()
  readonly #tries = new Map<Slot, number>()
  #planned = 0
  #last: Held | undefined
  #end: Held | undefined
  complete = false
  over = false
  /** The window that could not be read last, poison rows apart. */
  #unread: StoppedAt | undefined
  #notFound = 0

  constructor(facts: Facts, plan: readonly Window[], options: { backward: boolean; overlapping: boolean }) {
    this.#facts = facts
    this.#plan = options.backward ? plan.toReversed() : plan
    this.#backward = options.backward
    this.#overlapping = options.overlapping
    this.#chain = new Ledger(facts)
  }

  get stoppedAt(): StoppedAt | undefined {
    return this.complete ? undefined : this.#unread
  }

  get obstacles(): readonly Reason[] {
    return this.#overlapping ? this.#chain.obstacles : ['no-overlap']
  }

  proof(): PassProof | undefined {
    if (!this.complete || this.flaws.size > 0 || this.#end === undefined || !isEnd(this.#end)) return undefined
    if (!this.#overlapping && this.#chain.windows > 1) return undefined
    const proof = this.#chain.proof()
    return proof?.basis === 'witness' ? undefined : proof
  }

  next(): Window | undefined {
    if (this.over) return undefined
    const slot = this.#slots.notAsked() ?? this.#planAhead()
    if (slot === undefined) return undefined
    slot.asked = true
    return slot.window
  }

  take(asked: Window, held: Held): void {
    const slot = this.#slots.waitingFor(asked)
    if (slot === undefined) return
    slot.asked = true
    const isPromised = held.notFound && startOf(slot.window) < this.#facts.total
    if (isPromised) this.#notFound += 1
    const isHopeless = this.#notFound > MOST_NOT_FOUND
    if (isDoubtful(held) && !isHopeless && this.#again(slot)) return this.#facts.note('short-page')
    if (isPromised) this.#unread = { window: slot.window, failure: 'not-found' }
    if (isHopeless) return this.stop('short-page')
    if (isDoubtful(held)) this.flaws.add(doubtOf(held))
    slot.held = held
    this.#settle()
  }

  failed(window: Window, failure: PassFailure): void {
    const slot = this.#slots.waitingFor(window)
    if (slot === undefined) return
    const mayMend = failure !== 'hole' && failure !== 'cached-answer'
    if (mayMend && failure !== 'size-refused' && this.#again(slot)) return
    if (mayMend && failure !== 'flaky') this.#unread = { window, failure }
    if (failure === 'size-refused') return this.stop(failure)
    this.flaws.add(failure === 'flaky' ? 'hole' : failure)
    slot.failure = failure
    this.#settle()
  }

  stop(reason: Reason): void {
    this.flaws.add(reason)
    this.over = true
  }

  #planAhead(): Slot | undefined {
    const window = this.#slots.full ? undefined : this.#plan[this.#planned]
    if (window === undefined) return undefined
    this.#planned += 1
    return this.#slots.add(window)
  }

  /** Asks for the window once more, if it may. */
  #again(slot: Slot): boolean {
    const tries = (this.#tries.get(slot) ?? 1) + 1
    this.#tries.set(slot, tries)
    if (tries <= MOST_TRIES) slot.asked = false
    return tries <= MOST_TRIES
  }

  #settle(): void {
    for (let slot = this.#slots.nearest; slot !== undefined; slot = this.#slots.nearest) {
      if (slot.held !== undefined) this.#link(slot.held)
      else if (slot.failure === undefined) return
      else this.#cut()
      this.#slots.remove(slot)
      this.#tries.delete(slot)
    }
    if (this.#planned < this.#plan.length) return
    this.complete = this.#reachedEnd()
    this.over = true
  }

  #link(held: Held): void {
    if (this.#end === undefined || !this.#backward) this.#end = held
    const [left, right] = this.#backward ? [held, this.#last] : [this.#last, held]
    this.#last = held
    if (!this.#overlapping || left === undefined || right === undefined) return this.#chain.begin()
    this.#chain.link(seamBetween(left, right))
  }

  #cut(): void {
    this.#last = undefined
    this.#chain.cut()
  }

  #reachedEnd(): boolean {
    const end = this.#end
    return end !== undefined && (isBeyondEnd(end) || end.total === end.reach)
  }
}
