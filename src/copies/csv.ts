import { stringify } from 'csv-stringify/sync'
import type { ExportRow, Format, FormatSettings } from './format.ts'

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

/**
 * The text with an apostrophe wherever a spreadsheet would begin a formula, or show a number or date in place of the text, and cut off
 * where a cell ends, so that it shows the text and runs nothing.
 */
export function harmlessInSpreadsheet(text: string): string {
  const inner = SEPARATOR.test(text)
    ? text.replaceAll(AFTER_SEPARATOR, (_, before: string, start = '') =>
        start === '' ? before : `${before}'${start}`,
      )
    : text
  return fitted(FIRST.test(inner) || isRewritten(inner) ? `'${inner}` : inner)
}

/** Whether a spreadsheet takes the text for a number, a date or a time and shows another text: 49123 for 0049123, a day of May for 1.5. */
function isRewritten(text: string): boolean {
  return NUMBER_OR_DATE.test(text) && !SHOWN_AS_IT_IS.test(text)
}

/** Digits, and what stands between them in numbers, dates and times, whatever the language of the program. */
const NUMBER_OR_DATE = /^\s*[(.,$€£¥]?\d[\d\s.,:'’/()%eE+$€£¥-]*$/
/** Whole numbers within the 15 digits of a spreadsheet; ids; and times as the mirror writes them, which are to be dates there. */
const SHOWN_AS_IT_IS = /^(?:0|[1-9]\d{0,14}|[\de-]{36}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)$/

/** The most characters of a cell. What follows them in a file begins a cell of its own, and so may begin a formula. */
const CELL = 32_767

/** The text as it fits into a cell, with a mark at its end where that is not all of it. */
function fitted(text: string): string {
  if (text.length <= CELL) return text
  const mark = ` … (cut off: ${text.length} characters)`
  // Half of a character would be none.
  return text.slice(0, CELL - mark.length).replace(/[\uD800-\uDBFF]$/, '') + mark
}

/** What programs take for the start of a formula; the last four are wide forms, which some read as the others. */
const START = String.raw`[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]`
/** What programs skip before it: white space, control characters, and what is not seen. */
const SKIPPED = String.raw`[\s\p{C}\p{Z}]`

/** Tabs and carriage returns at the start make some programs drop what stands before a formula. */
const FIRST = new RegExp(String.raw`^(?:[\t\r]|${SKIPPED}*${START})`, 'u')

/**
 * Where a program is set to another separator than the comma, a cell begins after it, and quotes do not hold. Matches all that is
 * skipped, with a formula or without, so that a long text is read once.
 */
const AFTER_SEPARATOR = new RegExp(String.raw`([;|\t\r\n](?:${SKIPPED}|["'])*)(${START})?`, 'gu')
const SEPARATOR = /[;|\t\r\n]/
