import type { Held } from './held.ts'
import type { Reason } from './reasons.ts'
import { Witnesses } from './witness.ts'

/** A service that answers nonsense on more pages than this cannot be read around. */
const MOST_AVOIDED = 8

/** What a scan has learnt so far and all its passes share. */
export class Facts {
  /** The largest page the service serves. */
  pageSize: number
  /** The total of the answer that came last; 0 before the first. */
  total = 0
  /** The most rows of one creation time that stood together in one window. */
  longestTie = 1
  readonly witnesses = new Witnesses()
  /** Page numbers that answered nonsense, whatever the size: other windows are read in their place. */
  readonly avoid = new Set<number>()
  readonly #notes = new Map<Reason, number>()

  constructor(pageSize: number) {
    this.pageSize = pageSize
  }

  learn(held: Held): void {
    if (held.total !== undefined) this.total = held.total
    this.witnesses.observe(held)
    this.longestTie = Math.max(this.longestTie, longestTie(held))
    if (new Set(held.rows.map((row) => row.id)).size < held.rows.length) this.note('duplicate-id')
  }

  avoidPage(page: number): void {
    if (this.avoid.size < MOST_AVOIDED) this.avoid.add(page)
  }

  note(reason: Reason): void {
    this.#notes.set(reason, this.noted(reason) + 1)
  }

  noted(reason: Reason): number {
    return this.#notes.get(reason) ?? 0
  }

  get notes(): { reason: Reason; times: number }[] {
    return [...this.#notes].map(([reason, times]) => ({ reason, times }))
  }
}

function longestTie({ rows }: Held): number {
  let [longest, run] = [1, 1]
  for (const [place, row] of rows.entries()) {
    run = place > 0 && rows[place - 1]?.createdAt === row.createdAt ? run + 1 : 1
    longest = Math.max(longest, run)
  }
  return longest
}
