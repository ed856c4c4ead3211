import type { Screen } from '../io.ts'
import { cutText } from './fit-text.ts'
import { redrawnLines } from './redrawn-lines.ts'
import { grouped } from './wording.ts'

const REDRAWN_EVERY_MS = 200

/** Shows how far an export is, on one line of a terminal that is erased at the end. */
export function exportProgress(
  screen: Screen,
  { what, monotonicMs }: { what: 'customers' | 'changes'; monotonicMs: () => number },
): { show(rows: number, total: number | undefined): void; end(): void } {
  const lines = redrawnLines(screen)
  let drawnAtMs = Number.NEGATIVE_INFINITY
  return {
    show(rows, total) {
      const nowMs = monotonicMs()
      if (nowMs - drawnAtMs < REDRAWN_EVERY_MS) return
      drawnAtMs = nowMs
      const share = total === undefined || total === 0 ? '' : `, ${Math.floor((rows / total) * 100)} %`
      const of = total === undefined ? '' : ` of ${grouped(total)}`
      lines.draw([cutText(`Exporting: ${grouped(rows)}${of} ${what}${share}`, screen.columns - 1)])
    },
    end: () => lines.erase(),
  }
}
