import { plainText } from '../plain-text.ts'
import { numberText } from './number-text.ts'
import type { SqlValue } from '../../../reading/statements/readable-statement.ts'
import type { RowFormat } from './row-format.ts'

/**
 * CSV as in RFC 4180, every value as it is: also one that a spreadsheet would take for a formula. NULL is an empty field, and
 * the empty text is `""`. On a terminal control characters are written out.
 */
export function csvFormat({ isForTerminal }: { isForTerminal: boolean }): RowFormat {
  const lineOf = (values: readonly SqlValue[]) => {
    const line = values.map(fieldOf).join(',')
    return `${isForTerminal ? plainText(line) : line}\r\n`
  }
  return { open: lineOf, row: lineOf, close: () => '' }
}

function fieldOf(value: SqlValue): string {
  if (value === null) return ''
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return numberText(value)
  if (typeof value === 'string') return QUOTED.test(value) ? `"${value.replaceAll('"', '""')}"` : value
  return `x'${value.toString('hex')}'`
}

const QUOTED = /[",\r\n]|^$|^\s|\s$/
