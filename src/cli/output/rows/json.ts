import { plainJson } from '../plain-text.ts'
import { numberText } from './number-text.ts'
import type { SqlValue } from '../../../reading/statements/readable-statement.ts'
import type { RowFormat } from './row-format.ts'

/** One document: what comes before its rows, a row on each line, and what comes after them. */
export function jsonFormat({ before, after }: { before: string; after: string }): RowFormat {
  let names: string[] = []
  let isEmpty = true
  return {
    open(columns) {
      names = keysOf(columns)
      return before
    },
    row(values) {
      const start = isEmpty ? '\n    ' : ',\n    '
      isEmpty = false
      return start + objectOf(names, values)
    },
    close: () => (isEmpty ? after : `\n  ${after}`),
  }
}

/** A JSON object on each line. */
export function jsonLinesFormat(): RowFormat {
  let names: string[] = []
  return {
    open(columns) {
      names = keysOf(columns)
      return ''
    },
    row: (values) => `${objectOf(names, values)}\n`,
    close: () => '',
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

function objectOf(names: readonly string[], values: readonly SqlValue[]): string {
  return `{${values.map((value, index) => (names[index] ?? '') + valueText(value)).join(',')}}`
}

function valueText(value: SqlValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return plainJson(JSON.stringify(value))
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return numberText(value)
  return `{"base64":"${value.toString('base64')}"}`
}
