import type { ReadState, ReadOrganization } from './organizations.ts'
import type { SqlValue } from './read-rows.ts'
import type { PublicColumn } from '../model/public-tables.ts'
import { parsedJson } from '../text/parsed-json.ts'
import { escaped } from '../text/plain-text.ts'

/** A column, with values as SQLite has them: INTEGER is a bigint, BOOLEAN 0n or 1n, others are strings; after an edit by hand, anything. */
export type ExportColumn = Pick<PublicColumn, 'name' | 'type'> & { isJson?: boolean }

export type ExportRow = readonly SqlValue[]

/** What is exported, and how current it is: known before the first row. Times are UTC, as in the mirror. */
export type ExportFacts = {
  table: 'active_customers' | 'customers' | 'changes'
  columns: readonly ExportColumn[]
  exportedAt: string
  /** The rows are what changed after this seq; undefined where customers are exported. */
  changesSince: number | undefined
  /** The highest `changes.seq` that these rows hold, of all organizations: where the next export of changes continues. */
  lastSeq: number
  /** `active` counts the customers that are not removed now. */
  organizations: readonly (Pick<ReadOrganization, 'organization' | 'retiredAt'> & ReadState & { active: number })[]
}

/** A part of a file. Bytes are to be written before the next part is taken, which may stand in the same memory. */
export type Chunk = string | Uint8Array

/** Turns rows into the parts of a file as they are taken, and keeps few of them. */
export type Format = (rows: Iterable<ExportRow>, about: ExportFacts) => Iterable<Chunk>

/** Settings that change how a format writes; those that do not concern it are ignored. */
export type FormatSettings = {
  /** For a spreadsheet: with a BOM, and without formulas. */
  excel: boolean
  /** How Parquet has ids: as text, which every reader takes, or with its type for UUIDs, which some take for bytes. */
  ids: 'text' | 'uuid'
}

/** What is kept before it is written, in characters: as little as a row that is longer allows. */
export const MOST_KEPT = 64 * 1024

function* linesOf(rows: Iterable<ExportRow>, lineOf: (row: ExportRow) => string, head = ''): Generator<string, void> {
  let kept = head
  for (const row of rows) {
    kept += lineOf(row)
    if (kept.length < MOST_KEPT) continue
    yield kept
    kept = ''
  }
  if (kept !== '') yield kept
}

export const FORMAT_NAMES = ['csv', 'jsonl', 'parquet'] as const

export type FormatName = (typeof FORMAT_NAMES)[number]

export async function loadFormat(name: FormatName, settings: FormatSettings): Promise<Format> {
  if (name === 'csv') return csvFormat(settings)
  if (name === 'jsonl') return jsonLinesFormat
  return (await import('./parquet.ts')).parquetFormat(settings)
}

/** A JSON object on each line, with every column: BOOLEAN as true or false, integers with all digits, and columns that hold JSON as that JSON. */
export const jsonLinesFormat: Format = (rows, { columns }) => {
  const fields = columns.map(({ name, type, isJson = false }, at) => ({
    before: `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`,
    write: type === 'BOOLEAN' ? truth : isJson ? nested : jsonOf,
  }))
  return linesOf(rows, (row) => {
    let line = ''
    fields.forEach(({ before, write }, at) => (line += before + write(row[at] ?? null)))
    // Some readers end a line at these characters too, which JSON may hold as they are.
    return `${line.replaceAll(/[\u0085\u2028\u2029]/g, escaped)}}\n`
  })
}

function truth(value: SqlValue): string {
  return value === 0n || value === 1n ? String(value === 1n) : jsonOf(value)
}

/** A number that is not finite is null. */
export function jsonOf(value: SqlValue): string {
  if (value === null) return 'null'
  if (typeof value === 'bigint') return value.toString()
  return typeof value === 'object' ? `{"base64":"${value.toString('base64')}"}` : JSON.stringify(value)
}

/** As it is written in the mirror, so that numbers keep all their digits; as text where it is no JSON. */
function nested(value: SqlValue): string {
  if (typeof value !== 'string' || parsedJson(value) === undefined) return jsonOf(value)
  return value.replaceAll(/[\r\n]/g, ' ')
}

/** CSV as in RFC 4180: NULL is an empty field, the empty text `""`, BOOLEAN 1 or 0. With `excel` there is a BOM, and no value is a formula. */
export function csvFormat({ excel }: Pick<FormatSettings, 'excel'>): Format {
  const shown = excel ? { text: harmlessInSpreadsheet } : {}
  return (rows, { columns }) => {
    const names = columns.map(({ name }) => name)
    return linesOf(rows, (row) => csvLine(row, shown), (excel ? BYTE_ORDER_MARK : '') + csvLine(names, shown))
  }
}

const BYTE_ORDER_MARK = '\uFEFF'

/** A line with its end. Texts and numbers are written as these say before they are quoted. */
export function csvLine(
  values: readonly SqlValue[],
  { text = String, number = String }: { text?: (text: string) => string; number?: (number: number) => string } = {},
): string {
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

/** The text as a spreadsheet shows it: an apostrophe keeps it from being a formula, a number or a date, and it is cut off where a cell ends. */
export function harmlessInSpreadsheet(text: string): string {
  const harmless = text.replaceAll(CELL_START, (all: string, skipped: string, formula = '') =>
    formula === '' ? all : `${skipped}'${formula}`,
  )
  // A spreadsheet takes it for a number, a date or a time and shows another text: 49123 for 0049123, a day of May for 1.5.
  const isRewritten = harmless === text && NUMBER_OR_DATE.test(text) && !SHOWN_AS_IT_IS.test(text)
  const shown = isRewritten ? `'${text}` : harmless
  if (shown.length <= CELL) return shown
  const mark = ` … (cut off: ${text.length} characters)`
  // Half of a character would be none.
  return shown.slice(0, CELL - mark.length).replace(/[\uD800-\uDBFF]$/, '') + mark
}

/** The most characters of a cell. What follows them in a file begins a cell of its own, and so may begin a formula. */
const CELL = 32_767

/** Where a cell begins, for any separator and in quotes; what programs skip there; and the start of a formula, also in its wide form. */
const CELL_START = /((?:[;|\t\r\n]|^)[\s\p{C}\p{Z}"']*)([=+\-@\uFF1D\uFF0B\uFF0D\uFF20])?/gu

/** Digits, and what stands between them in numbers, dates and times, whatever the language of the program. */
const NUMBER_OR_DATE = /^\s*[(.,$€£¥]?\d[\d\s.,:'’/()%eE+$€£¥-]*$/
/** Whole numbers within the 15 digits of a spreadsheet; ids; and times as the mirror writes them, which are to be dates there. */
const SHOWN_AS_IT_IS = /^(?:0|[1-9]\d{0,14}|[\de-]{36}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)$/
