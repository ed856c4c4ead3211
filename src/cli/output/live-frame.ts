import { columnsOf, cutText, padded } from './fit-text.ts'
import { countsOf } from './wording.ts'

/** An active organization, with its status in several lengths, longest first. */
export type UnderWay = { id: string; words: readonly string[] }

/** How many organizations wait, and how those ended that have; and whether the program is stopping. */
export type Others = { waiting: number; done: number; stopped: number; failed: number; isStopping?: boolean }

/**
 * The lines on the screen while organizations are mirrored: one for each active organization, as many as fit, and one that
 * counts all others. No line is wider than the screen, and there are fewer lines than it has rows.
 */
export function liveFrame(
  underWay: readonly UnderWay[],
  { waiting, done, stopped, failed, isStopping = false }: Others,
  { columns, rows = 24 }: { columns: number; rows?: number | undefined },
): string[] {
  const width = columns - 1
  // One row is left for the cursor, and one for the count.
  const shown = underWay.slice(0, Math.max(1, rows - 2))
  const hidden = underWay.length - shown.length
  const name = Math.min(Math.max(0, ...shown.map(({ id }) => columnsOf(id))), Math.max(8, Math.floor(columns / 3)))
  const lines = shown.map(({ id, words }) => {
    const start = `${padded(cutText(id, name), name)}  `
    const fitting = words.find((text) => columnsOf(start + text) <= width) ?? words.at(-1) ?? ''
    return cutText(start + fitting, width).trimEnd()
  })
  const others = countsOf([
    [hidden, 'more under way'],
    [waiting, 'not begun'],
    [done, 'done'],
    [stopped, 'stopped'],
    [failed, 'failed'],
  ])
  const fronts = isStopping ? STOPPING : [[]]
  const texts = fronts.map((front) => [...front, ...others].join(', ')).filter((text) => text !== '')
  const fitting = texts.find((text) => columnsOf(text) <= width - 2) ?? texts.at(-1)
  return fitting === undefined ? lines : [...lines, cutText(`… ${fitting}`, width)]
}

/** What a stop does, longest first. */
const STOPPING = [
  ['stopping: saving what has arrived (Ctrl-C again ends at once)'],
  ['stopping (Ctrl-C again ends at once)'],
  ['stopping'],
]
