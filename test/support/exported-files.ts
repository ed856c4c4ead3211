import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import Database from 'better-sqlite3'
import { onTestFinished } from 'vitest'
import type { ExportColumn, ExportFacts, ExportRow, FormatSettings } from '../../src/copies/format.ts'
import { parquetFormat } from '../../src/copies/parquet.ts'
import { beginExport, type Selection } from '../../src/copies/selection.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { temporaryFolder } from './temp-folder.ts'

/** Exports as Parquet into a new file, and returns its path. */
export async function exported(mirror: Pick<Mirror, 'file'>, selection: Partial<Selection> = {}): Promise<string> {
  const file = join(temporaryFolder(), 'exported.parquet')
  const parts: Uint8Array[] = []
  const db = new Database(mirror.file, { readonly: true })
  try {
    const { chunks } = beginExport(db.defaultSafeIntegers(), {
      selection: { organizations: [], ...selection },
      configured: [],
      format: parquetFormat({ ids: 'text' }),
    })
    for (const chunk of chunks) parts.push(Buffer.from(chunk))
  } finally {
    db.close()
  }
  writeFileSync(file, Buffer.concat(parts))
  return file
}

export const column = (name: string, type: ExportColumn['type']): ExportColumn => ({ name, type })

/** What the file says of itself. */
export const FACTS: ExportFacts = {
  table: 'active_customers',
  columns: [],
  exportedAt: '2026-01-05 02:00:00.000',
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
    },
  ],
}

/** Writes rows of these columns as a Parquet file, and returns its path. */
export async function write(
  columns: ExportColumn[],
  rows: Iterable<ExportRow>,
  { ids = 'text', ...facts }: Partial<ExportFacts> & Partial<Pick<FormatSettings, 'ids'>> = {},
) {
  const file = join(temporaryFolder(), 'rows.parquet')
  const parts: Buffer[] = []
  for (const chunk of parquetFormat({ ids })(rows, { ...FACTS, ...facts, columns })) parts.push(Buffer.from(chunk))
  writeFileSync(file, Buffer.concat(parts))
  return { file }
}

/** A row as DuckDB shows it: every value as text, true, false or null. */
export type DuckRow = Record<string, unknown>

/** DuckDB in memory, which reads files as any program of analysts would. Closed when the test ends. */
export async function aDuckDb(): Promise<{ all(sql: string): Promise<DuckRow[]> }> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  onTestFinished(() => {
    connection.closeSync()
    instance.closeSync()
  })
  await connection.run(`SET TimeZone = 'UTC'`)
  return {
    async all(sql) {
      const result = await connection.runAndReadAll(sql)
      return result.getRowObjectsJson()
    },
  }
}
