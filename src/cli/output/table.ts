import { columnsOf, padded, wrapText } from './fit-text.ts'
import { plainText } from '../../text/plain-text.ts'
import { grouped } from './wording.ts'

/** A terminal, with its width. */
export type TableScreen = { readonly columns: number }

/** A number has its digits in threes, and 0 is nothing; a bigint is shown as it is. */
type Cell = string | number | bigint

/**
 * A table for people, without frames: aligned columns of text under a head, ending in a new line. On a narrow terminal, empty
 * columns are left out, then columns move closer together, then ids that are too long take a line of their own, then many columns
 * are folded into a few lines, and at last each row becomes a block. Files and pipes get every column. The first cell of a row is the title of its block, unless what it says depends on the name of its column.
 */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  screen?: TableScreen,
  { isTitled = true } = {},
): string {
  const whole = drawTable(head, rows)
  if (screen === undefined || fits(whole, screen)) return whole
  const used = head.flatMap((_, column) =>
    column === 0 || rows.some((row) => !isNothing(row[column])) ? [column] : [],
  )
  const usedHead = used.map((column) => head[column] ?? '')
  const usedRows = rows.map((row) => used.map((column) => row[column] ?? ''))
  const tables = [
    ...[2, 1].map((gap) => drawTable(usedHead, usedRows, { gap })),
    ...[2, 1].flatMap((gap) => (isTitled ? drawWithLongIds(usedHead, usedRows, gap, screen) : [])),
    ...(isTitled && rows.length > 1 ? drawFolded(usedHead, usedRows, screen) : []),
  ]
  return (
    tables.find((table) => fits(table, screen)) ??
    rows.map((row) => blockOf(head, row, { ...screen, isTitled })).join('\n')
  )
}

function fits(table: string, { columns }: TableScreen): boolean {
  return table.split('\n').every((line) => columnsOf(line) <= columns)
}

/** One row as a block: its title, if it has one, and below it the other cells that are not empty, each with the head of its column. */
function blockOf(
  head: readonly string[],
  row: readonly Cell[],
  { columns, isTitled }: TableScreen & { isTitled: boolean },
): string {
  const title = isTitled ? wrapText(textOf(row[0] ?? ''), columns) : []
  const indent = isTitled ? 2 : 0
  const named = row.flatMap((cell, index) =>
    (isTitled && index === 0) || isNothing(cell) ? [] : [{ name: head[index] ?? '', cell: textOf(cell) }],
  )
  const width = indent + Math.max(0, ...named.map(({ name }) => columnsOf(name)))
  const lines = named.flatMap(({ name, cell }) => {
    const [start = '', ...more] = wrapText(cell, Math.max(10, columns - width - 2))
    return [
      `${padded(' '.repeat(indent) + name, width)}  ${start}`,
      ...more.map((line) => ' '.repeat(width + 2) + line),
    ]
  })
  return [...title, ...lines].map((line) => `${line.trimEnd()}\n`).join('')
}

const LONG = 'organization'

/** As a table whose ids stay in their column where there is room for them, and that of its head; else the rest of a row is below its id. */
function drawWithLongIds(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  gap: number,
  { columns }: TableScreen,
): string[] {
  const column = head.indexOf(LONG)
  if (column === -1) return []
  const rest = drawTable(
    head.with(column, ''),
    rows.map((row) => row.with(column, '')),
    { gap },
  )
  const room = columns - Math.max(...rest.split('\n').map(columnsOf))
  return [drawTable(head, rows, { gap, ids: { column, room: room < LONG.length ? 0 : room } })]
}

/** As a table whose head and rows take a few lines each, with three columns or more in a line; those below the first are indented. */
function drawFolded(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { columns: width }: TableScreen,
): string[] {
  const folds: string[][] = []
  for (let from = 0; from < head.length;) {
    const indent = from === 0 ? '' : '  '
    const columns = { columns: width - indent.length }
    const draw = (to: number) =>
      drawTable(
        head.slice(from, to),
        rows.map((row) => row.slice(from, to)),
      )
    let to = from + 1
    while (to < head.length && fits(draw(to + 1), columns)) to += 1
    folds.push(
      draw(to)
        .split('\n')
        .map((line) => (line === '' ? '' : `${indent}${line}\n`)),
    )
    from = to
  }
  const isWhole = folds.every(({ length }) => length === rows.length + 2)
  if (!isWhole || folds.length > head.length / 3) return []
  return [[head, ...rows].map((_, line) => folds.map((lines) => lines[line]).join('')).join('')]
}

/** The column of ids, and how wide it may be. */
type Ids = { column: number; room: number }

function drawTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { gap = 2, ids = { column: -1, room: 0 } }: { gap?: number; ids?: Ids } = {},
): string {
  const drawn = [head, ...rows.map((row) => row.map(textOf))].map((row) =>
    withRestBelow(row, ids).map((text) => text.split('\n')),
  )
  const isTooLong = (width: number, column: number) => column === ids.column && width > ids.room
  const columns = head.map((_, column) => ({
    width: Math.max(
      0,
      ...drawn.flatMap((row) => (row[column] ?? []).map(columnsOf)).filter((width) => !isTooLong(width, column)),
    ),
    isRight: rows.length > 0 && rows.every((row) => isNumeric(row[column])),
  }))
  const lineOf = (row: readonly string[][], line: number) =>
    columns
      .map(({ width, isRight }, column) => padded(row[column]?.[line] ?? '', width, { isRight }))
      .join(' '.repeat(gap))
  return drawn
    .flatMap((row) => Array.from({ length: heightOf(row) }, (_, line) => `${lineOf(row, line).trimEnd()}\n`))
    .join('')
}

/** The cells behind an id that is too long, one line lower. */
function withRestBelow(row: readonly string[], { column, room }: Ids): readonly string[] {
  if (column === -1 || columnsOf(row[column] ?? '') <= room) return row
  return row.map((text, index) => (index > column ? `\n${text}` : text))
}

/** A text may have several lines; its row is then as high as its highest cell. */
function heightOf(row: readonly string[][]): number {
  return Math.max(...row.map((lines) => lines.length))
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
