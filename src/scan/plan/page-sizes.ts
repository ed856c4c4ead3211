import type { Findings } from '../findings.ts'
import type { WindowAnswer } from '../window/window.ts'

/** The page sizes that the service serves: unknown before its first answer, then agreed, at worst fixed. */
export class PageSizes {
  readonly #findings: Findings
  isKnown = false
  /** The service accepts only some page sizes: equal pages are read side by side. */
  isFixed = false

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** Adopts the size of the first answer. Another size in a later answer shows that the service ignores the size requested. */
  agreeOn({ window, perPage }: WindowAnswer): 'agreed' | 'smaller' | 'other' {
    const isFirst = !this.isKnown
    this.isKnown = true
    if (perPage === window.size) return 'agreed'
    const isCapped = isFirst && perPage < window.size
    this.#findings.note(isCapped ? 'capped-size' : 'size-refused')
    const isSmaller = window.size >= this.#findings.pageSize && perPage < this.#findings.pageSize
    if (window.size >= this.#findings.pageSize) this.#findings.pageSize = Math.max(1, Math.min(perPage, window.size))
    if (isCapped) return 'agreed'
    return isSmaller ? 'smaller' : 'other'
  }
}

/** The page size to try once when the service refuses the first page for its size; undefined when that is small already. */
export function sizeAfterRefusal(refused: number): number | undefined {
  return refused > FALLBACK_SIZE ? FALLBACK_SIZE : undefined
}
const FALLBACK_SIZE = 50
