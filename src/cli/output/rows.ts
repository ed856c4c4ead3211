import { isTerminal, jsonDocument, renderTable, screenOf } from './print.ts'
import { csvLine, jsonOf, MOST_KEPT } from '../../copies/format.ts'
import type { SomeRows, SqlValue } from '../../copies/read-rows.ts'
import { plainJson, plainText } from '../../text/plain-text.ts'

/** How rows are to be written. Passed to another process as JSON. */
export type Layout =
  | ({ format: 'table'; screen?: number | undefined } & TableWords)
  | { format: 'csv'; isForTerminal: boolean }
  | { format: 'json'; before: string; after: string; onOneLine?: boolean }

/** What is written: a table unless `--csv` or `--json` is asked for, whose document has one list, which is empty, for the rows. */
export function layoutOf(
  { json, csv }: { json?: true | undefined; csv?: true | undefined },
  { document, onOneLine = false, stdout, ...table }: TableWords & LayoutPlace,
): Layout {
  if (csv) return { format: 'csv', isForTerminal: isTerminal(stdout) }
  if (!json) return { format: 'table', screen: screenOf(stdout)?.columns, ...table }
  const text = jsonDocument(document, { onOneLine })
  const at = text.indexOf('[]') + 1
  return { format: 'json', before: text.slice(0, at), after: text.slice(at), onOneLine }
}

type LayoutPlace = { document: Record<string, unknown>; onOneLine?: boolean; stdout: NodeJS.WritableStream }

/** What a table shows for NULL in place of a dash, and what, if anything, stands in place of one without rows. */
type TableWords = { nothing?: string; none?: string | undefined }

/** The text of rows in a layout, as they come. Rows after the first `most` are left out, and `onMore` is called. */
export async function* textOf(
  found: Iterable<SomeRows> | AsyncIterable<SomeRows>,
  layout: Layout,
  { most = Infinity, onMore }: { most?: number | undefined; onMore?: () => void } = {},
): AsyncGenerator<string, void> {
  let format: RowFormat | undefined
  let text = ''
  let printed = 0
  for await (const { columns, rows } of found) {
    if (format === undefined) text = (format = formatRows(layout, columns)).open
    for (const row of rows) {
      if (printed === most) {
        onMore?.()
        yield text + format.close()
        return
      }
      printed += 1
      text += format.row(row)
      if (text.length < MOST_KEPT) continue
      yield text
      text = ''
    }
  }
  yield text + (format ?? formatRows(layout, [])).close()
}

/** How rows with these columns are written: the text before the first, of each (none while it is kept for later), and after the last. */
export function formatRows(layout: Layout, columns: readonly string[]): RowFormat {
  if (layout.format === 'table') return tableFormat(layout, columns.map(plainText))
  if (layout.format === 'csv') return csvFormat(layout, columns)
  return objectFormat(layout, keysOf(columns))
}

type RowFormat = { open: string; row(values: readonly SqlValue[]): string; close(): string }

/** A table has so many rows, or takes so much room, as each row is as wide as the widest; the next one has a head again. */
const MOST_ROWS = 1000
const MOST_ROOM = 10_000_000

function tableFormat({ screen, nothing, none }: Extract<Layout, { format: 'table' }>, head: string[]): RowFormat {
  let kept: (string | bigint | undefined)[][] = []
  let widest = 0
  let separator = ''
  const drawn = () => {
    if (kept.length === 0 && none !== undefined) return none
    const table = separator + renderTable(head, kept, screen)
    separator = '\n'
    kept = []
    widest = 0
    return table
  }
  return {
    open: '',
    row(values) {
      const cells = values.map((value) => cellOf(value) ?? nothing)
      const width = Math.max(widest, ...cells.map((cell) => String(cell).length))
      const room = (kept.length + 1) * width * cells.length
      const table = kept.length === MOST_ROWS || (kept.length > 0 && room > MOST_ROOM) ? drawn() : ''
      widest = Math.max(widest, width)
      kept.push(cells)
      return table
    },
    close: drawn,
  }
}

function cellOf(value: SqlValue): string | bigint | undefined {
  if (value === null) return undefined
  if (typeof value === 'string' || typeof value === 'bigint') return value
  return typeof value === 'number' ? numberText(value) : `${value.length} bytes`
}

/** CSV (RFC 4180), values as they are, also what a spreadsheet takes for a formula. NULL is an empty field, and the empty text is `""`. */
function csvFormat({ isForTerminal }: { isForTerminal: boolean }, columns: readonly string[]): RowFormat {
  const lineOf = (values: readonly SqlValue[]) => {
    const line = csvLine(values, { number: numberText })
    return isForTerminal ? `${plainText(line.slice(0, -2))}\r\n` : line
  }
  return { open: lineOf(columns), row: lineOf, close: () => '' }
}

function objectFormat(layout: Extract<Layout, { format: 'json' }>, names: readonly string[]): RowFormat {
  const between = layout.onOneLine === true ? '' : '\n    '
  const shown = (value: SqlValue) => (typeof value === 'number' ? numberText(value) : plainJson(jsonOf(value)))
  let separator = between
  return {
    open: layout.before,
    row(values) {
      const fields = values.map((value, index) => (names[index] ?? '') + shown(value))
      const line = `${separator}{${fields.join(',')}}`
      separator = `,${between}`
      return line
    },
    close: () => (separator === between ? '' : between.slice(0, -2)) + layout.after,
  }
}

/** The names in JSON, each with its colon. A name that comes again is numbered: `id`, `id_2`. */
function keysOf(columns: readonly string[]): string[] {
  const given = new Set<string>()
  return columns.map((column) => {
    let key = column
    for (let number = 2; given.has(key); number += 1) key = `${column}_${number}`
    given.add(key)
    return `${plainJson(JSON.stringify(key))}:`
  })
}

/** A REAL in SQL and in JSON, with which it stays one: `1.0`, `1e+300`, `9e999` for infinity. */
function numberText(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '9e999' : '-9e999'
  const text = Object.is(value, -0) ? '-0' : String(value)
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}
