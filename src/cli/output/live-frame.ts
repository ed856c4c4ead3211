import { columnsOf, cutText } from './fit-text.ts'
import { grouped } from './wording.ts'

/** An organization under way, with what there is to say of it: the fullest first, the shortest last. */
export type UnderWay = { id: string; words: readonly string[] }

/** How many organizations are not begun, done, and failed among those done; and whether all of them were asked to stop. */
export type Others = { waiting: number; done: number; failed: number; isStopping?: boolean }

/**
 * What is on the screen while organizations are mirrored: a line for each that is under way, as many as fit, and one that counts
 * all the others. No line is longer than the screen is wide, and there are fewer than it has rows.
 */
export function liveFrame(
  underWay: readonly UnderWay[],
  { waiting, done, failed, isStopping = false }: Others,
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
  const counts = [
    [hidden, 'more under way'],
    [waiting, 'not begun'],
    [done - failed, 'done'],
    [failed, 'failed'],
  ] as const
  const others = counts.filter(([number]) => number > 0).map(([number, what]) => `${grouped(number)} ${what}`)
  const said = isStopping ? [STOPPING, ...others] : others
  return said.length === 0 ? lines : [...lines, cutText(`… ${said.join(', ')}`, width)]
}

const STOPPING = 'stopping: saving what has arrived (Ctrl-C again ends at once)'

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - columnsOf(text)))
}
