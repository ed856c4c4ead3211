import type { PublicColumn } from '../model/public-tables.ts'
import { parsedJson } from '../text/parsed-json.ts'
import type { Reading, ReadOrganization } from './organizations.ts'
import type { SqlValue } from './sqlite-statement.ts'

/**
 * A column of an export. Values are as SQLite has them: TEXT and DATETIME (UTC, as in the mirror) are strings, INTEGER is a bigint,
 * BOOLEAN is 0n or 1n. A mirror that was edited by hand may hold anything anywhere.
 */
export type ExportColumn = Pick<PublicColumn, 'name' | 'type'> & {
  isJson?: boolean
}

export type ExportRow = readonly SqlValue[]

/** What is exported, and how current it is: known before the first row. Times are UTC, as in the mirror. */
export type ExportFacts = {
  table: 'active_customers' | 'customers' | 'customers_history' | 'changes'
  columns: readonly ExportColumn[]
  exportedAt: string
  /** The moment whose customers these are; undefined for those of now. */
  asOf: string | undefined
  /** The rows are what changed after this seq; undefined where customers are exported. */
  changesSince: number | undefined
  /** The highest `changes.seq` that these rows hold, of all organizations: where the next export of changes continues. */
  lastSeq: number
  organizations: readonly ExportedOrganization[]
}

/** `active` counts the customers that are not removed now. */
type ExportedOrganization = Pick<ReadOrganization, 'organization' | 'retiredAt'> & Reading & { active: number }

/** A part of a file. Bytes are to be written before the next part is taken, which may stand in the same memory. */
export type Chunk = string | Uint8Array

export function bytesOf(chunk: Chunk): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}

/** Turns rows into the parts of a file as they are taken, and keeps few of them. */
export type Format = (rows: Iterable<ExportRow>, about: ExportFacts) => Iterable<Chunk>

/** Settings that change how a format writes; those that do not concern it are ignored. */
export type FormatSettings = {
  /** For a spreadsheet: with a BOM, and without formulas. */
  excel: boolean
  /** How Parquet has ids: as text, which every reader takes, or with its type for UUIDs, which some take for bytes. */
  ids: 'text' | 'uuid'
  /** Where a terminal shows the text: returns a value without what a terminal would act on. */
  plainText?: ((text: string) => string) | undefined
  /** The same for a text in JSON, which means the same afterwards. */
  plainJson?: ((json: string) => string) | undefined
}

/** What is kept before it is written, in characters: as little as a row that is longer allows. */
const MOST_KEPT = 64 * 1024

/** A line for each row, behind the head. */
export function* linesOf(
  rows: Iterable<ExportRow>,
  lineOf: (row: ExportRow) => string,
  head = '',
): Generator<string, void> {
  let kept = head
  for (const row of rows) {
    kept += lineOf(row)
    if (kept.length < MOST_KEPT) continue
    yield kept
    kept = ''
  }
  if (kept !== '') yield kept
}

/** Each format with what loads it. */
const LOADERS = {
  csv: async (settings: FormatSettings) => (await import('./csv.ts')).csvFormat(settings),
  jsonl: async (settings: FormatSettings) => jsonLinesFormat(settings),
  parquet: async (settings: FormatSettings) => (await import('./parquet.ts')).parquetFormat(settings),
} satisfies Record<string, (settings: FormatSettings) => Promise<Format>>

export type FormatName = keyof typeof LOADERS

export const FORMAT_NAMES: readonly string[] = Object.keys(LOADERS)

export function loadFormat(name: FormatName, settings: FormatSettings): Promise<Format> {
  return LOADERS[name](settings)
}

export function isFormatName(name: string): name is FormatName {
  return Object.hasOwn(LOADERS, name)
}

/**
 * A JSON object on each line, with every column: NULL as null, BOOLEAN as true or false, integers with all their digits, and columns
 * that hold JSON as that JSON, not as text.
 */
export function jsonLinesFormat({ plainJson = (json) => json }: Pick<FormatSettings, 'plainJson'>): Format {
  return (rows, { columns }) => {
    const write = columns.map(writerOf)
    return linesOf(rows, (row) => `${plainJson(objectOf(row, write))}\n`)
  }
}

type ValueWriter = { key: string; write: (value: SqlValue) => string }

function objectOf(row: ExportRow, writers: readonly ValueWriter[]): string {
  let line = ''
  for (const [index, { key, write }] of writers.entries()) line += key + write(row[index] ?? null)
  return `${line}}`
}

function writerOf({ name, type, isJson }: ExportColumn, index: number): ValueWriter {
  const key = `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`
  if (type === 'BOOLEAN') return { key, write: (value) => TRUTH.get(value) ?? jsonOf(value) }
  return { key, write: isJson ? nested : jsonOf }
}

const TRUTH: ReadonlyMap<SqlValue, string> = new Map([
  [0n, 'false'],
  [1n, 'true'],
])

function jsonOf(value: SqlValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return onOneLine(JSON.stringify(value))
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : 'null'
  return `{"base64":"${value.toString('base64')}"}`
}

/** As it is written in the mirror, so that numbers keep all their digits; as text where it is no JSON. */
function nested(value: SqlValue): string {
  if (typeof value !== 'string' || parsedJson(value) === undefined) return jsonOf(value)
  return onOneLine(value.replaceAll(/[\r\n]/g, ' '))
}

/** Some readers end a line at these characters too, which JSON may hold as they are. */
function onOneLine(json: string): string {
  return ENDS_A_LINE.test(json) ? json.replaceAll(ENDS_LINES, escaped) : json
}

const ENDS_A_LINE = /[\u0085\u2028\u2029]/
const ENDS_LINES = /[\u0085\u2028\u2029]/g

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
