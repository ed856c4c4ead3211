import { stringify } from 'csv-stringify/sync'
import type { ExportRow, Format, FormatSettings } from './format.ts'
import { harmlessInSpreadsheet } from './formulas.ts'

/** What is kept before it is written, in characters: as little as a value that is longer allows. */
const MOST_KEPT = 64 * 1024

/**
 * CSV as in RFC 4180. NULL is an empty field, the empty text is `""`, BOOLEAN is 1 or 0. With `excel`, the file begins with a BOM
 * and no value is a formula in a spreadsheet; otherwise values are as they are.
 */
export function csvFormat({ excel, plainText }: FormatSettings): Format {
  const asShown = (text: string) => (plainText === undefined ? text : plainText(text))
  const cast = {
    string: (value: string) => asShown(excel ? harmlessInSpreadsheet(value) : value),
    object: (value: unknown) => (Buffer.isBuffer(value) ? `x'${value.toString('hex')}'` : String(value)),
  }
  const options = { record_delimiter: 'windows', quoted_match: QUOTED, cast }
  return {
    write(rows, to, { columns }) {
      const head: ExportRow = columns.map(({ name }) => name)
      to.write((excel ? BYTE_ORDER_MARK : '') + stringify([head], options))
      let kept: ExportRow[] = []
      let characters = 0
      let count = 0
      for (const row of rows) {
        count += 1
        kept.push(row)
        characters += charactersOf(row)
        if (characters < MOST_KEPT) continue
        to.write(stringify(kept, options))
        kept = []
        characters = 0
      }
      if (kept.length > 0) to.write(stringify(kept, options))
      return count
    },
  }
}

const BYTE_ORDER_MARK = '\uFEFF'

/** What is quoted besides commas and quotes: line ends of any kind, outer spaces, and the empty text, which is not NULL. */
const QUOTED = /[\r\n]|^$|^\s|\s$/

/** A few for values that are no text. */
function charactersOf(row: ExportRow): number {
  let characters = 0
  for (const value of row) characters += typeof value === 'string' ? value.length : 8
  return characters
}
