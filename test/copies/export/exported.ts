import Database from 'better-sqlite3'
import type { ExportColumn, ExportFacts, ExportRow, Format } from '../../../src/copies/format.ts'
import { exportRows } from '../../../src/copies/export-rows.ts'
import type { Selection } from '../../../src/copies/selection.ts'

/** Writes rows in a format, and returns what it wrote: the text, and how long each write was. */
export async function exported(format: Format, rows: readonly ExportRow[], columns = columnsFor(rows)) {
  const parts: Buffer[] = []
  const count = format.write(
    rows,
    { write: (chunk) => void parts.push(Buffer.from(chunk)) },
    {
      table: 'active_customers',
      columns,
      exportedAt: '2026-01-05 02:00:00.000',
      asOf: undefined,
      changesSince: undefined,
      lastSeq: 0,
      organizations: [],
    },
  )
  return { count, text: Buffer.concat(parts).toString(), writes: parts.map(({ length }) => length) }
}

function columnsFor([first = ['']]: readonly ExportRow[]): ExportColumn[] {
  return first.map((_, index) => ({ name: `c${index + 1}`, type: 'TEXT', meaning: '', nullable: true }))
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
  const format: Format = {
    write(given, _, about) {
      facts = about
      for (const row of given) rows.push(Object.fromEntries(about.columns.map(({ name }, index) => [name, row[index]])))
      return rows.length
    },
  }
  try {
    const done = exportRows(db.defaultSafeIntegers(), {
      selection: { organizations: [], ...selection },
      configured,
      format,
      to: { write: () => {} },
    })
    return { rows, facts, done }
  } finally {
    db.close()
  }
}
