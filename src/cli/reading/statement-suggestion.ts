import { nearest } from '../../config/checks/suggestion.ts'
import { isOurs, UsageError } from '../../errors/errors.ts'
import { PUBLIC_TABLES } from '../../public-tables.ts'
import { plainText } from '../output/plain-text.ts'

/** The error of a statement with the public table or column that was probably meant; any other error unchanged. */
export function withSuggestion(error: unknown): unknown {
  if (!isOurs(error) || error.code !== 'usage') return error
  const message = plainText(error.message)
  const [, kind, written = ''] =
    /no such (table|column): "?([^"\s]+)/.exec(message) ??
    /(relation|column) "?([^"\s]+)"? does not exist/.exec(message) ??
    []
  if (kind === undefined) return new UsageError(message)
  const name = written.split('.').at(-1) ?? ''
  const known =
    kind !== 'column'
      ? PUBLIC_TABLES.map((table) => table.name)
      : PUBLIC_TABLES.flatMap(({ columns }) => columns.map((column) => column.name))
  const meant = nearest(name, [...new Set(known)])
  const hint =
    meant === undefined || meant === name
      ? "'customer-mirror sql --tables' lists the tables and columns."
      : `Did you mean ${meant}? 'customer-mirror sql --tables' lists them all.`
  return new UsageError(`${message}${message.endsWith('?') ? '' : '.'} ${hint}`)
}
