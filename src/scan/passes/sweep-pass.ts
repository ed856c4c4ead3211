import type { PassProof } from '../certificate.ts'
import type { Findings } from '../findings.ts'
import { doubtOf, isBeyondEnd, isDoubtful, isEnd, type ReadWindow } from '../window/read-window.ts'
import { ChainProof } from '../proof/chain-proof.ts'
import type { Pass, PassFailure } from '../pass.ts'
import type { Reason } from '../reasons.ts'
import { overlapBetween } from '../window/overlap.ts'
import { type PendingWindow, PendingWindows } from '../plan/pending-windows.ts'
import { RepeatedWindows } from '../window/repeated-windows.ts'
import type { Seams } from '../proof/seams.ts'
import { startOf, type StoppedAt, type Window } from '../window/window.ts'

const MOST_TRIES = 2
/** After this many pages that were not found although the total promises rows there, the pass ends. */
const MOST_NOT_FOUND = 8
/** After this many pages in a row that repeat rows of others, the pass ends: the service has no other pages there. */
const MOST_REPEATED = 32

/**
 * Reads a plan of windows in either direction, and repairs nothing. It looks for customers that earlier passes overlooked; if its
 * windows overlap and the list stands still, it is a proof as well.
 */
export class SweepPass implements Pass {
  readonly #findings: Findings
  readonly #plan: Window[]
  readonly #backward: boolean
  readonly #overlapping: boolean
  readonly #chain: ChainProof
  readonly flaws = new Set<Reason>()
  readonly #pending = new PendingWindows()
  readonly #tries = new Map<PendingWindow, number>()
  #planned = 0
  #last: ReadWindow | undefined
  #end: ReadWindow | undefined
  complete = false
  over = false
  /** The last window that could not be read, apart from poison rows. */
  #unread: StoppedAt | undefined
  #notFound = 0
  /** Pages given up since the last one with rows of its own. */
  #repeats = 0
  readonly #repeated = new RepeatedWindows()

  constructor(findings: Findings, plan: readonly Window[], options: { backward: boolean; overlapping: boolean }) {
    this.#findings = findings
    this.#plan = options.backward ? plan.toReversed() : [...plan]
    this.#backward = options.backward
    this.#overlapping = options.overlapping
    this.#chain = new ChainProof(findings)
  }

  get stoppedAt(): StoppedAt | undefined {
    return this.complete ? undefined : this.#unread
  }

  get obstacles(): readonly Reason[] {
    return this.#overlapping ? this.#chain.obstacles : ['no-overlap']
  }

  get seams(): Seams | undefined {
    return this.#overlapping ? this.#chain.seams : undefined
  }

  get settles(): boolean {
    const isWhole = this.complete && this.flaws.size === 0 && this.#end !== undefined && isEnd(this.#end)
    return isWhole && this.#overlapping && this.#chain.settles
  }

  proof(): PassProof | undefined {
    if (!this.complete || this.flaws.size > 0 || this.#end === undefined || !isEnd(this.#end)) return undefined
    if (!this.#overlapping && this.#chain.windows > 1) return undefined
    const proof = this.#chain.proof()
    return proof?.basis === 'quiet' || proof?.basis === 'one-page' ? proof : undefined
  }

  next(): Window | undefined {
    if (this.over) return undefined
    const pending = this.#pending.notAsked() ?? this.#planAhead()
    if (pending === undefined) return undefined
    pending.asked = true
    return pending.window
  }

  take(asked: Window, read: ReadWindow): void {
    const pending = this.#pending.waitingFor(asked)
    if (pending === undefined) return
    pending.asked = true
    if (this.#repeated.isRepeated(read)) return this.#repeat(pending)
    this.#repeats = 0
    const isPromised = read.notFound && startOf(pending.window) < this.#findings.total
    if (isPromised) this.#notFound += 1
    const isHopeless = this.#notFound > MOST_NOT_FOUND
    const mayBeEnd = read.notFound && !isPromised
    if (isDoubtful(read) && !mayBeEnd && !isHopeless && this.#again(pending)) return this.#findings.note('short-page')
    if (isPromised) this.#unread = { window: pending.window, failure: 'not-found' }
    if (isHopeless) return this.stop('short-page')
    if (isDoubtful(read)) this.flaws.add(doubtOf(read))
    pending.read = read
    this.#settle()
  }

  failed(window: Window, failure: PassFailure): void {
    const pending = this.#pending.waitingFor(window)
    if (pending === undefined) return
    const mayRetry = failure !== 'hole' && failure !== 'cached-answer'
    if (mayRetry && failure !== 'size-refused' && this.#again(pending)) return
    if (mayRetry && failure !== 'flaky') this.#unread = { window, failure }
    if (failure === 'size-refused') return this.stop(failure)
    this.flaws.add(failure === 'flaky' ? 'hole' : failure)
    pending.failure = failure
    this.#settle()
  }

  #repeat(pending: PendingWindow): void {
    this.#findings.note('repeated-page')
    this.failed(pending.window, 'repeated-page')
    if (pending.failure !== undefined) this.#repeats += 1
    if (this.#repeats > MOST_REPEATED) this.stop('repeated-page')
  }

  stop(reason: Reason): void {
    this.flaws.add(reason)
    this.over = true
  }

  #planAhead(): PendingWindow | undefined {
    const window = this.#pending.full ? undefined : this.#plan[this.#planned]
    if (window === undefined) return undefined
    this.#planned += 1
    return this.#pending.add(window)
  }

  /** Requests the window again, if tries are left; false otherwise. */
  #again(pending: PendingWindow): boolean {
    const tries = (this.#tries.get(pending) ?? 1) + 1
    this.#tries.set(pending, tries)
    if (tries <= MOST_TRIES) pending.asked = false
    return tries <= MOST_TRIES
  }

  #settle(): void {
    for (let pending = this.#pending.nearest; pending !== undefined; pending = this.#pending.nearest) {
      if (pending.read !== undefined) this.#link(pending.read)
      else if (pending.failure === undefined) return
      else this.#cut()
      this.#pending.remove(pending)
      this.#tries.delete(pending)
    }
    this.#goOn()
    if (this.#planned < this.#plan.length) return
    this.complete = this.#reachedEnd()
    this.over = true
  }

  /**
   * Behind a full page there may be more, whatever the total said when the pages were planned; without a total, behind any page with
   * rows, and behind a few that could not be read.
   */
  #goOn(): void {
    const end = this.#end
    if (this.#overlapping || end === undefined || this.#planned < this.#plan.length) return
    const furthest = this.#plan.reduce((most, { page }) => Math.max(most, page), 0)
    const failed = furthest - end.window.page
    const isFull = end.all.length === end.window.size && end.total !== end.reach
    const isOpen = isCountless(end) && end.all.length > 0
    const mayGoOn =
      failed === 0 ? isFull || isOpen : isOpen && failed <= MOST_TRIES && this.#unread?.window.page !== furthest
    if (mayGoOn) this.#plan.push({ page: furthest + 1, size: end.window.size })
  }

  #link(read: ReadWindow): void {
    if (this.#end === undefined || read.start >= this.#end.start) this.#end = read
    const [left, right] = this.#backward ? [read, this.#last] : [this.#last, read]
    this.#last = read
    if (!this.#overlapping || left === undefined || right === undefined) return this.#chain.begin()
    this.#chain.link(overlapBetween(left, right), { left, read: right })
  }

  #cut(): void {
    this.#last = undefined
    this.#chain.cut()
  }

  #reachedEnd(): boolean {
    const end = this.#end
    if (end === undefined) return false
    if (isBeyondEnd(end) || end.notFound || end.total === end.reach) return true
    // What stands behind a short page was refused: it is the last one.
    return isCountless(end) && end.all.length < end.window.size && this.#unread?.window.page === end.window.page + 1
  }
}

/** No total says whether more rows follow, or one that is too low. */
function isCountless({ total, reach }: ReadWindow): boolean {
  return total === undefined || total < reach
}
