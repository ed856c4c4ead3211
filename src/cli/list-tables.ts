import { isPostgres } from '../address/mirror-address.ts'
import type { SomeRows } from '../copies/postgres-statement.ts'
import { nearest } from '../config/suggestion.ts'
import { isOurs, UsageError } from '../errors/errors.ts'
import { PUBLIC_TABLES, type PublicColumn, type PublicTable } from '../model/public-tables.ts'
import { screenOf, type Io, type Screen } from './io.ts'
import { textOf } from './output/rows.ts'
import { hanging, jsonDocument, print } from './output/say.ts'
import { plainText } from '../text/plain-text.ts'
import { fileToRead, layoutOf, type ReadingOptions } from './command.ts'

/** `customer-mirror sql --tables`: the tables and columns that readers may rely on. */
export async function listTables(options: ReadingOptions, io: Io): Promise<void> {
  const layout = layoutOf(options, { list: 'tables', nothing: '', stdout: io.stdout })
  const tables = await tablesOf(options)
  if (layout.format === 'json') io.stdout.write(jsonDocument({ tables }))
  else if (layout.format === 'table') print(io.stdout, asText(tables, screenOf(io.stdout)))
  else for await (const text of textOf([rowsOf(tables)], layout)) io.stdout.write(text)
}

/** Those of the mirror or copy that is named; otherwise those of SQLite, which need no mirror and no configuration. */
async function tablesOf(options: ReadingOptions): Promise<readonly DescribedTable[]> {
  const { file } = await fileToRead(options).catch((error: unknown) => {
    if (options.mirror === undefined && options.config === undefined && isOurs(error)) return { file: '' }
    throw error
  })
  if (options.mirror === undefined && !isPostgres(file)) return PUBLIC_TABLES
  return describedTables(file)
}

/** A public table, with the types of the store that it is in. */
type DescribedTable = Omit<PublicTable, 'columns'> & { columns: readonly DescribedColumn[] }
type DescribedColumn = Omit<PublicColumn, 'type'> & { type: string }

/**
 * The public tables that a mirror or a copy has, as it describes them itself. A copy without personal data has fewer tables and columns; every
 * copy has a manifest.
 */
async function describedTables(place: string): Promise<DescribedTable[]> {
  const [{ readStatement }, { MANIFEST }] = await Promise.all([
    import('../copies/read-rows.ts'),
    import('../copies/copy-manifest.ts'),
  ])
  const described = new Map<string, Pick<DescribedColumn, 'type' | 'meaning'>>()
  for await (const { rows } of readStatement(place, DICTIONARY, { limitMs: 60_000 }))
    for (const [name, type, meaning] of rows)
      described.set(String(name), { type: String(type), meaning: String(meaning) })
  return [...PUBLIC_TABLES, MANIFEST]
    .map((table) => ({
      ...table,
      columns: table.columns.flatMap((column) => {
        const found = described.get(`${table.name}.${column.name}`)
        return found === undefined ? [] : [{ ...column, ...found }]
      }),
    }))
    .filter(({ columns }) => columns.length > 0)
}

const DICTIONARY = "SELECT table_name || '.' || column_name, type, meaning FROM dictionary"

function rowsOf(tables: readonly DescribedTable[]): SomeRows {
  const columns = ['table', 'column', 'type', 'source', 'nullable', 'personal', 'meaning']
  const rows = tables.flatMap((table) =>
    table.columns.map(({ name, type, source, nullable, personal, meaning }) => {
      return [table.name, name, type, source, nullable ? 1n : 0n, personal ? 1n : 0n, meaning]
    }),
  )
  return { columns, rows }
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
