import { type Format, type FormatSettings, linesOf } from './format.ts'
import type { SqlValue } from './sqlite-statement.ts'

/**
 * CSV as in RFC 4180. NULL is an empty field, the empty text is `""`, BOOLEAN is 1 or 0. With `excel`, the file begins with a BOM
 * and no value is a formula in a spreadsheet; otherwise values are as they are.
 */
export function csvFormat({ excel, plainText = (text) => text }: FormatSettings): Format {
  const shown = { text: (text: string) => plainText(excel ? harmlessInSpreadsheet(text) : text) }
  return (rows, { columns }) => {
    const names = columns.map(({ name }) => name)
    return linesOf(rows, (row) => csvLine(row, shown), (excel ? BYTE_ORDER_MARK : '') + csvLine(names, shown))
  }
}

const BYTE_ORDER_MARK = '\uFEFF'

/** How the texts and the numbers in a line are written, before they are quoted; as they are where it is left out. */
type Shown = { text?: (text: string) => string; number?: (number: number) => string }

export function csvLine(values: readonly SqlValue[], { text = String, number = String }: Shown = {}): string {
  const fieldOf = (value: SqlValue): string => {
    if (value === null) return ''
    if (typeof value === 'number') return number(value)
    if (typeof value === 'bigint') return value.toString()
    if (typeof value !== 'string') return `x'${value.toString('hex')}'`
    const shown = text(value)
    return QUOTED.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown
  }
  return `${values.map(fieldOf).join(',')}\r\n`
}

/** Commas, quotes, line ends of any kind, outer spaces, and the empty text, which is not NULL. */
const QUOTED = /[",\r\n]|^$|^\s|\s$/

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
