import Database from 'better-sqlite3'
import type { ExportColumn, ExportFacts, ExportRow, Format } from '../../../src/copies/format.ts'
import { beginExport, type Selection } from '../../../src/copies/selection.ts'

/** The text of rows in a format. */
export function exported(format: Format, rows: readonly ExportRow[], columns = columnsFor(rows)): string {
  const facts = { table: 'active_customers', columns, exportedAt: '', changesSince: undefined, lastSeq: 0 } as const
  return [...format(rows, { ...facts, organizations: [] })].join('')
}

function columnsFor([first = ['']]: readonly ExportRow[]): ExportColumn[] {
  return first.map((_, index) => ({ name: `c${index + 1}`, type: 'TEXT' }))
}

/** What is exported from a mirror: its rows as objects, what is known before the first of them, and what is reported after. */
export async function exportedFrom(
  file: string,
  selection: Partial<Selection> = {},
  configured: readonly string[] = [],
) {
  const rows: Record<string, unknown>[] = []
  const db = new Database(file, { readonly: true, fileMustExist: true })
  let facts: ExportFacts | undefined
  const format: Format = (given, about) => {
    facts = about
    for (const row of given) rows.push(Object.fromEntries(about.columns.map(({ name }, index) => [name, row[index]])))
    return []
  }
  try {
    const selected = { selection: { organizations: [], ...selection }, configured, format }
    const { done } = beginExport(db.defaultSafeIntegers(), selected)
    return { rows, facts, done: done() }
  } finally {
    db.close()
  }
}
