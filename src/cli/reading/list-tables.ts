import { isPostgres } from '../../address/mirror-address.ts'
import { nearest } from '../../config/checks/suggestion.ts'
import { isOurs, UsageError } from '../../errors/errors.ts'
import { PUBLIC_TABLES } from '../../public-tables.ts'
import type { DescribedTable } from '../../copies/described-tables.ts'
import { screenOf, type Io, type Screen } from '../io.ts'
import { hanging } from '../output/fit-text.ts'
import { formatRows } from '../output/rows.ts'
import { jsonDocument, print } from '../output/say.ts'
import { plainText } from '../../plain-text.ts'
import { fileToRead, layoutOf, type ReadingOptions } from './reading-options.ts'

/** `customer-mirror sql --tables`: the tables and columns that readers may rely on. */
export async function listTables(options: ReadingOptions, io: Io): Promise<void> {
  const layout = layoutOf(options, { list: 'tables', nothing: '', stdout: io.stdout })
  const tables = await tablesOf(options)
  if (layout.format === 'json') io.stdout.write(jsonDocument({ tables }))
  else if (layout.format === 'table') print(io.stdout, asText(tables, screenOf(io.stdout)))
  else io.stdout.write(asRows(tables, formatRows(layout)))
}

/** Those of the mirror or copy that is named; otherwise those of SQLite, which need no mirror and no configuration. */
async function tablesOf(options: ReadingOptions): Promise<readonly DescribedTable[]> {
  const { file } = await fileToRead(options).catch((error: unknown) => {
    if (options.mirror === undefined && options.config === undefined && isOurs(error)) return { file: '' }
    throw error
  })
  if (options.mirror === undefined && !isPostgres(file)) return PUBLIC_TABLES
  const { describedTables } = await import('../../copies/described-tables.ts')
  return describedTables(file)
}

function asRows(tables: readonly DescribedTable[], format: ReturnType<typeof formatRows>): string {
  const rows = tables.flatMap((table) =>
    table.columns.map(({ name, type, source, nullable, personal, meaning }) =>
      format.row([table.name, name, type, source, nullable ? 1n : 0n, personal ? 1n : 0n, meaning]),
    ),
  )
  const head = format.open(['table', 'column', 'type', 'source', 'nullable', 'personal', 'meaning'])
  return head + rows.join('') + format.close()
}

function asText(tables: readonly DescribedTable[], screen: Screen | undefined): string {
  const typeWidth = Math.max(...tables.flatMap(({ columns }) => columns.map(({ type }) => type.length)))
  return tables
    .map(({ name, meaning, columns }) => {
      const width = Math.max(...columns.map((column) => column.name.length))
      const lines = columns.map((column) =>
        entry(`  ${column.name.padEnd(width)}  ${column.type.padEnd(typeWidth)}  `, column.meaning, screen),
      )
      return entry(`${name}: `, meaning, screen) + lines.join('')
    })
    .join('\n')
}

function entry(start: string, text: string, screen: Screen | undefined): string {
  return `${hanging(start, text, screen?.columns ?? Infinity)}\n`
}

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
