import type { ExportColumn, ExportRow, Format } from '../../../src/reading/export/format.ts'

/** Writes rows in a format, and returns what it wrote: the text, and how long each write was. */
export async function exported(format: Format, rows: readonly ExportRow[], columns = columnsFor(rows)) {
  const parts: Buffer[] = []
  const count = await format.write(
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
