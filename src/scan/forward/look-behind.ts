import type { ChainPlan } from './chain-plan.ts'
import type { Findings } from '../findings.ts'
import type { PassFailure } from '../pass.ts'
import type { ReadWindow } from '../window/read-window.ts'
import { endOf, type Window } from '../window/window.ts'

/** What a service may answer for a page behind the last one, apart from an empty page. */
const REFUSALS: ReadonlySet<PassFailure> = new Set<PassFailure>(['size-refused', 'page-mismatch', 'repeated-page'])
/** So many pages that end with the same row are the last one, sent in the place of pages behind it. */
const ENOUGH_ALIKE = 2

/**
 * Where no total says that a page is the last one, what stands behind it shows whether it is: nothing. A service that serves fewer
 * rows than the size it states has a short page everywhere, and one that leaves out a row has one where it does.
 */
export class LookBehind {
  readonly #findings: Findings
  readonly #plan: ChainPlan
  /** The last window before the one that is asked for; undefined where none is. */
  #last: ReadWindow | undefined
  #alike = 0

  constructor(findings: Findings, plan: ChainPlan) {
    this.#findings = findings
    this.#plan = plan
  }

  /** Requests what stands behind a window, where nothing else is to be read. In the usual size, which the service does not refuse. */
  begin(behind: Window, last: ReadWindow | undefined): void {
    const size = this.#findings.pageSize
    this.#last = last ?? this.#last
    const { pending } = this.#plan
    if (pending.empty) pending.add({ page: Math.ceil(endOf(behind) / size) + 1, size })
  }

  /** The list goes on. */
  clear(): void {
    this.#last = undefined
    this.#alike = 0
  }

  /** Whether a window stands behind the end of the chain, `reach`, and has rows: then those between the two are read first. */
  readsGap({ start, all }: ReadWindow, reach: number): boolean {
    if (this.#last === undefined || all.length === 0 || start <= reach) return false
    this.clear()
    this.#plan.pending.addBridge(this.#plan.windowAfter(reach))
    return true
  }

  /** Whether the list has ended, as the page behind it was refused. */
  isEndedBy(failure: PassFailure): boolean {
    return this.#last !== undefined && REFUSALS.has(failure)
  }

  /** Whether the last page came once more in the place of one behind it. Then `isSure` after some of these. */
  repeatsLast({ keys }: ReadWindow): boolean {
    const isAlike = this.#last !== undefined && keys.length > 0 && keys.at(-1) === this.#last.keys.at(-1)
    if (isAlike) this.#alike += 1
    return isAlike
  }

  get isSure(): boolean {
    return this.#alike >= ENOUGH_ALIKE
  }
}
