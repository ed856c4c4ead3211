import { isPostgres } from '../../address/mirror-address.ts'
import { nearest } from '../../config/checks/suggestion.ts'
import { isOurs, UsageError } from '../../errors/errors.ts'
import { PUBLIC_TABLES } from '../../public-tables.ts'
import type { DescribedTable } from '../../reading/described-tables.ts'
import { MANIFEST } from '../../reading/publish/manifest-columns.ts'
import { screenOf, type Io, type Screen } from '../io.ts'
import { hanging } from '../output/fit-text.ts'
import { formatRows } from '../output/rows.ts'
import { jsonDocument, plainText } from '../output/say.ts'
import { fileToRead, layoutOf, type ReadingOptions } from './reading-options.ts'
import { startReading } from './run-reading.ts'

/** `customer-mirror sql --tables`: the tables and columns that readers may rely on. */
export async function listTables(options: ReadingOptions, io: Io): Promise<void> {
  const layout = layoutOf(options, { list: 'tables', nothing: '', stdout: io.stdout })
  const tables = await tablesOf(options, io)
  if (tables === undefined) return
  if (layout.format === 'json') io.stdout.write(jsonDocument({ tables }))
  else if (layout.format === 'table') io.stdout.write(asText(tables, screenOf(io.stdout)))
  else io.stdout.write(asRows(tables, formatRows(layout)))
}

/**
 * As a mirror in PostgreSQL describes them, or those that the file named with `--mirror` has; otherwise those of SQLite, which need no
 * mirror and no configuration. Undefined where a stop was reported.
 */
async function tablesOf(options: ReadingOptions, io: Io): Promise<readonly DescribedTable[] | undefined> {
  const { file } = await fileToRead(options).catch((error: unknown) => {
    if (options.mirror === undefined && options.config === undefined && isOurs(error)) return { file: '' }
    throw error
  })
  if (!isPostgres(file)) return options.mirror === undefined ? PUBLIC_TABLES : tablesIn(file, io)
  const { describedTables } = await import('../../reading/described-tables.ts')
  return describedTables(file)
}

/** A copy without personal data has fewer tables and columns; every copy has a manifest. */
async function tablesIn(file: string, io: Io): Promise<readonly DescribedTable[] | undefined> {
  const reading = startReading(io)
  const end = await reading.run({ file, columns: true }).finally(() => reading.end())
  if (end?.[0] !== 'columns') return undefined
  const there = new Set(end[1])
  return [...PUBLIC_TABLES, MANIFEST]
    .map((table) => ({
      ...table,
      columns: table.columns.filter(({ name }) => there.has(`${table.name}.${name}`)),
    }))
    .filter(({ columns }) => columns.length > 0)
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
