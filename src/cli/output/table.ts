import { columnsOf, grouped, print, wrapText } from './say.ts'
import { screenOf } from '../io.ts'
import { plainText } from '../../text/plain-text.ts'

/** A number has its digits in threes, and 0 is nothing; a bigint is shown as it is. */
type Cell = string | number | bigint

/** A table for people, and what is said in place of one without rows. */
export type Table = { head: readonly string[]; rows: readonly (readonly Cell[])[]; none?: string }

/** Prints a table as wide as its terminal. */
export function printTable(stdout: NodeJS.WritableStream, { head, rows, none }: Table): void {
  print(stdout, rows.length === 0 && none !== undefined ? none : renderTable(head, rows, screenOf(stdout)?.columns))
}

/**
 * A table for people, without frames, ending in a new line. Files, pipes and wide terminals get every column. On a narrow terminal, empty
 * columns are left out, then long cells are broken between words, and at last each row becomes a block.
 */
export function renderTable(head: readonly string[], rows: readonly (readonly Cell[])[], columns = Infinity): string {
  const all = [head, ...rows.map((row) => row.map(textOf))]
  const isRight = head.map((_, column) => rows.length > 0 && rows.every((row) => isNumeric(row[column])))
  const whole = widthsOf(all, columnsOf)
  if (fits(whole, columns)) return drawTable(all, whole, isRight)
  const used = head.flatMap((_, column) =>
    column === 0 || rows.some((row) => !isNothing(row[column])) ? [column] : [],
  )
  const pick = <Value>(from: readonly Value[]) => from.filter((_, column) => used.includes(column))
  const widths = narrowed(pick(whole), pick(widthsOf(all, longestWord)), columns)
  if (widths !== undefined) return drawTable(all.map(pick), widths, pick(isRight))
  return rows.map((row, index) => blockOf(head, row, all[index + 1] ?? [], columns)).join('\n')
}

const GAP = 2

function fits(widths: readonly number[], columns: number): boolean {
  return widths.reduce((sum, width) => sum + width + GAP, -GAP) <= columns
}

function widthsOf(lines: readonly (readonly string[])[], widthOf: (text: string) => number): number[] {
  return (lines[0] ?? []).map((_, column) =>
    lines.reduce((most, line) => Math.max(most, widthOf(line[column] ?? '')), 0),
  )
}

function longestWord(text: string): number {
  return Math.max(...text.split(' ').map((word) => columnsOf(word)))
}

/** The widths at which the table fits without a word being broken: the widest column gives way first. Undefined if there are none. */
function narrowed(whole: readonly number[], least: readonly number[], columns: number): number[] | undefined {
  const widths = [...whole]
  while (!fits(widths, columns)) {
    const room = widths.map((width, column) => (width > (least[column] ?? 0) ? width : 0))
    const widest = room.indexOf(Math.max(...room))
    if (room[widest] === 0) return undefined
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function drawTable(
  lines: readonly (readonly string[])[],
  widths: readonly number[],
  isRight: readonly boolean[] = [],
): string {
  return lines.map((cells) => drawLine(cells, widths, isRight)).join('')
}

/** A row is as high as its highest cell. */
function drawLine(cells: readonly string[], widths: readonly number[], isRight: readonly boolean[]): string {
  const parts = cells.map((text, column) => wrapText(text, widths[column] ?? 0))
  const height = Math.max(1, ...parts.map(({ length }) => length))
  return Array.from({ length: height }, (_, line) => {
    const shown = parts.map((part, column) => padded(part[line] ?? '', widths[column] ?? 0, isRight[column]))
    return `${shown.join(' '.repeat(GAP)).trimEnd()}\n`
  }).join('')
}

/** The cells of one row that are not empty, each behind the head of its column. */
function blockOf(head: readonly string[], row: readonly Cell[], texts: readonly string[], columns: number): string {
  const lines = head.flatMap((name, column) => (isNothing(row[column]) ? [] : [[name, texts[column] ?? '']]))
  const [names = 0, longest = 0] = widthsOf(lines, columnsOf)
  return drawTable(lines, [names, Math.min(longest, Math.max(10, columns - names - GAP))])
}

function textOf(cell: Cell): string {
  return typeof cell === 'number' ? grouped(cell) : plainText(String(cell))
}

function isNothing(cell: Cell | undefined): boolean {
  return cell === undefined || cell === 0 || cell === '' || cell === '–'
}

function isNumeric(cell: Cell | undefined): boolean {
  return typeof cell === 'number' || typeof cell === 'bigint' || cell === '–' || cell === 'NULL'
}

/** The text in `width` columns, with spaces behind it, or before it where it stands on the right. */
function padded(text: string, width: number, isRight = false): string {
  const space = ' '.repeat(Math.max(0, width - columnsOf(text)))
  return isRight ? space + text : text + space
}
