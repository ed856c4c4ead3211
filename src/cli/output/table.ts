import Table from 'cli-table3'
import { columnsOf, wrapText } from './fit-text.ts'

/** A terminal on which a table has to find room. */
export type TableScreen = { readonly columns: number }

type Cell = string | number

/**
 * A table for people, without frames: columns of text under a head, aligned, ending in a new line. On a terminal that is too
 * narrow for it, columns in which there is nothing are left out, then columns stand closer together; where that is not enough,
 * each row becomes a block. For a file or a pipe every column is there.
 */
export function renderTable(head: readonly string[], rows: readonly (readonly Cell[])[], screen?: TableScreen): string {
  const whole = drawTable(head, rows)
  if (screen === undefined || fits(whole, screen)) return whole
  const used = head.flatMap((_, column) =>
    column === 0 || rows.some((row) => !isNothing(row[column])) ? [column] : [],
  )
  const usedHead = used.map((column) => head[column] ?? '')
  const usedRows = rows.map((row) => used.map((column) => row[column] ?? ''))
  const narrow = [2, 1].map((gap) => drawTable(usedHead, usedRows, gap)).find((table) => fits(table, screen))
  return narrow ?? rows.map((row) => blockOf(head, row, screen)).join('\n')
}

function fits(table: string, { columns }: TableScreen): boolean {
  return table.split('\n').every((line) => columnsOf(line) <= columns)
}

/** One row by itself: its first cell, and below it the others that say something, each with the head of its column. */
function blockOf(head: readonly string[], [first = '', ...cells]: readonly Cell[], { columns }: TableScreen): string {
  const named = cells.flatMap((cell, index) =>
    isNothing(cell) ? [] : [{ name: head[index + 1] ?? '', cell: textOf(cell) }],
  )
  const width = Math.max(0, ...named.map(({ name }) => name.length))
  const lines = named.flatMap(({ name, cell }) => {
    const [start = '', ...more] = wrapText(cell, Math.max(10, columns - width - 4))
    return [`  ${name.padEnd(width)}  ${start}`, ...more.map((line) => ' '.repeat(width + 4) + line)]
  })
  return [...wrapText(textOf(first), columns), ...lines].map((line) => `${line.trimEnd()}\n`).join('')
}

function drawTable(head: readonly string[], rows: readonly (readonly Cell[])[], gap = 2): string {
  const table = new Table({
    head: [...head],
    chars: NO_FRAME,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gap },
    colAligns: head.map((_, column) =>
      rows.every((row) => isNumeric(row[column])) && rows.length > 0 ? 'right' : 'left',
    ),
  })
  table.push(...rows.map((row) => row.map(textOf)))
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
}

function textOf(cell: Cell): string {
  return typeof cell === 'number' ? cell.toLocaleString('en') : cell
}

function isNothing(cell: Cell | undefined): boolean {
  return cell === undefined || cell === 0 || cell === '' || cell === '–'
}

function isNumeric(cell: string | number | undefined): boolean {
  return typeof cell === 'number' || cell === '–'
}

const NO_FRAME = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
}
