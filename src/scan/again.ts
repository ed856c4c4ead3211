import type { Chain } from './chain.ts'
import type { Findings } from './findings.ts'
import type { Stage } from './scan.ts'
import { joinedSpans, windowAt, windowKey, WindowQueue, type Span, type Window } from './window.ts'

const MOST_ROUNDS = 6

/**
 * The third stage: stretches without a good seam once more, backward and in another size, until as many rows are known as the total says.
 * It proves nothing: it finds rows that the first reading missed.
 */
export class Again extends WindowQueue implements Stage {
  readonly #findings: Findings
  readonly #spans: readonly Span[]
  #rounds = 0
  #asked = 0

  constructor(findings: Findings, chain: Chain) {
    super()
    this.#findings = findings
    // The rows that only some of the answers know stand behind the last window.
    const tail = findings.areTotalsAtOdds ? [{ from: chain.lastTwo[0]?.start ?? 0, to: findings.longest }] : []
    this.#spans = findings.isFixed ? [{ from: 0, to: findings.rows }] : joinedSpans([...chain.loose, ...tail])
    this.#plan()
  }

  #plan(): void {
    const { isFixed, longest, furthest, seen, size } = this.#findings
    // A total may be any number.
    const rows = Math.min(longest, furthest + size)
    const mayLack = rows > seen.size || (isFixed && this.#rounds === 0)
    if (!mayLack || this.#rounds >= MOST_ROUNDS || this.#asked >= rows / size) return
    this.#rounds += 1
    const other = isFixed ? size : Math.max(1, size - Math.ceil(size / 16) * this.#rounds - 1)
    const windows = new Map<string, Window>()
    for (const { from, to } of this.#spans) {
      for (let at = from; at < Math.min(to, rows); at += other) {
        const window = windowAt(at, other)
        windows.set(windowKey(window), window)
      }
    }
    this.putFirst([...windows.values()].toReversed())
    this.#asked += windows.size
  }

  settle(window: Window): void {
    if (this.remove(window) && this.isOver) this.#plan()
  }
}
