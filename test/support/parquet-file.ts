import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ExportColumn, ExportFacts, ExportRow, FormatSettings } from '../../src/copies/format.ts'
import { parquetFormat } from '../../src/copies/parquet.ts'
import { temporaryFolder } from './temp-folder.ts'

/** A column that may be empty. */
export const column = (name: string, type: ExportColumn['type']): ExportColumn => ({
  name,
  type,
  meaning: '',
  nullable: true,
})

/** What the file says of itself. */
export const FACTS: ExportFacts = {
  table: 'active_customers',
  columns: [],
  exportedAt: '2026-01-05 02:00:00.000',
  asOf: undefined,
  changesSince: undefined,
  lastSeq: 7,
  organizations: [
    {
      organization: 'acme',
      run: 3,
      proof: 'proven',
      readAsOf: '2026-01-05 01:00:00.000',
      provenAsOf: null,
      retiredAt: '2026-01-04 12:00:00.000',
      active: 2,
      firstReadAt: '2026-01-01 01:00:00.000',
    },
  ],
}

/** Writes rows of these columns as a Parquet file, and returns its path and how large each write was. */
export async function write(
  columns: ExportColumn[],
  rows: Iterable<ExportRow>,
  { ids = 'text', ...facts }: Partial<ExportFacts> & Partial<Pick<FormatSettings, 'ids'>> = {},
) {
  const file = join(temporaryFolder(), 'rows.parquet')
  const parts: Buffer[] = []
  for (const chunk of parquetFormat({ ids })(rows, { ...FACTS, ...facts, columns })) parts.push(Buffer.from(chunk))
  writeFileSync(file, Buffer.concat(parts))
  return { file, writes: parts.map(({ length }) => length) }
}
