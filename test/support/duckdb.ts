import { DuckDBInstance } from '@duckdb/node-api'
import { onTestFinished } from 'vitest'

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
