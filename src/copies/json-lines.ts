import { parsedJson } from '../text/parsed-json.ts'
import { wellFormedJson } from '../text/storable-text.ts'
import type { SqlValue } from './sqlite-statement.ts'
import { type ExportColumn, type ExportRow, type Format, type FormatSettings, linesOf } from './format.ts'

/**
 * A JSON object on each line, with every column: NULL as null, BOOLEAN as true or false, integers with all their digits, and columns
 * that hold JSON as that JSON, not as text.
 */
export function jsonLinesFormat({ plainJson = (json) => json }: Pick<FormatSettings, 'plainJson'>): Format {
  return (rows, { columns }) => {
    const write = columns.map(writerOf)
    return linesOf(rows, (row) => `${plainJson(lineOf(row, write))}\n`)
  }
}

type ValueWriter = { key: string; write: (value: SqlValue) => string }

function lineOf(row: ExportRow, writers: readonly ValueWriter[]): string {
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

/**
 * As it is written in the mirror, so that numbers keep all their digits, and well formed, also from an earlier version; as text where it is
 * no JSON.
 */
function nested(value: SqlValue): string {
  if (typeof value !== 'string' || parsedJson(value) === undefined) return jsonOf(value)
  return onOneLine(wellFormedJson(value.replaceAll(/[\r\n]/g, ' ')))
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
