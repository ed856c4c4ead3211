import { PUBLIC_TABLES } from '../reading/dictionary.ts'
import { screenOf, type Io, type Screen } from './io.ts'
import { wrapText } from './output/fit-text.ts'
import { formatRows } from './output/rows/format-rows.ts'
import { jsonDocument } from './reading.ts'
import { layoutOf, type ReadingOptions } from './reading-options.ts'

/** `customer-mirror sql --tables`: the tables and columns that readers may rely on. */
export function listTables(options: ReadingOptions, io: Io): void {
  const layout = layoutOf(options, { list: 'tables', nothing: '', stdout: io.stdout })
  if (layout.format === 'json') io.stdout.write(jsonDocument({ tables: PUBLIC_TABLES }))
  else if (layout.format === 'table') io.stdout.write(asText(screenOf(io.stdout)))
  else io.stdout.write(asRows(formatRows(layout)))
}

function asRows(format: ReturnType<typeof formatRows>): string {
  const rows = PUBLIC_TABLES.flatMap((table) =>
    table.columns.map(({ name, type, source, nullable, personal, meaning }) =>
      format.row([table.name, name, type, source, nullable ? 1n : 0n, personal ? 1n : 0n, meaning]),
    ),
  )
  const head = format.open(['table', 'column', 'type', 'source', 'nullable', 'personal', 'meaning'])
  return head + rows.join('') + format.close()
}

function asText(screen: Screen | undefined): string {
  return PUBLIC_TABLES.map(({ name, meaning, columns }) => {
    const width = Math.max(...columns.map((column) => column.name.length))
    const lines = columns.map((column) =>
      entry(`  ${column.name.padEnd(width)}  ${column.type.padEnd('DATETIME'.length)}  `, column.meaning, screen),
    )
    return entry(`${name}: `, meaning, screen) + lines.join('')
  }).join('\n')
}

/** What an entry is about, then the text, which goes on below itself. */
function entry(start: string, text: string, screen: Screen | undefined): string {
  const width = screen === undefined ? Infinity : Math.max(20, screen.columns - start.length)
  return `${start}${wrapText(text, width).join(`\n${' '.repeat(start.length)}`)}\n`
}
