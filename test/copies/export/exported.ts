import Database from 'better-sqlite3'
import type { ExportColumn, ExportFacts, ExportRow, Format } from '../../../src/copies/format.ts'
import { beginExport, type Selection } from '../../../src/copies/selection.ts'

/** Writes rows in a format, and returns what it wrote: the text, and how long each write was. */
export async function exported(format: Format, rows: readonly ExportRow[], columns = columnsFor(rows)) {
  const counted = { rows: 0 }
  const taken = function* () {
    for (const row of rows) {
      counted.rows += 1
      yield row
    }
  }
  const chunks = format(taken(), {
    table: 'active_customers',
    columns,
    exportedAt: '2026-01-05 02:00:00.000',
    changesSince: undefined,
    lastSeq: 0,
    organizations: [],
  })
  const parts = [...chunks].map((chunk) => Buffer.from(chunk))
  return {
    count: counted.rows,
    text: Buffer.concat(parts).toString(),
    writes: parts.map(({ length }) => length),
  }
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
