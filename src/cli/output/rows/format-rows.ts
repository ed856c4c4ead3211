import { csvFormat } from './csv.ts'
import { jsonFormat, jsonLinesFormat } from './json.ts'
import type { Layout, RowFormat } from './row-format.ts'
import { tableFormat } from './table.ts'

/** The format in which rows are written. */
export function formatRows(layout: Layout): RowFormat {
  if (layout.format === 'table') return tableFormat(layout)
  if (layout.format === 'csv') return csvFormat(layout)
  return layout.format === 'json' ? jsonFormat(layout) : jsonLinesFormat()
}
