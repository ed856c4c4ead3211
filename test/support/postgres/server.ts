import { readFileSync } from 'node:fs'
import { oneStatement, startPostgres, type PostgresServer } from '../../../bench/postgres-server.ts'

/** A server whose databases understand what statements for SQLite call by other names. */
export type TestServer = PostgresServer & {
  /** Makes another database, and returns its address. */
  another(name: string): Promise<string>
}

/** Starts PostgreSQL for tests: fast, unless what it commits is to outlive a kill. */
export async function startTestServer(options = { isDurable: false }): Promise<TestServer> {
  const server = await startPostgres(options)
  await oneStatement(server.url, sqliteForms())
  return {
    ...server,
    another: async (name) => {
      await oneStatement(server.url, `CREATE DATABASE ${name}`)
      const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href
      await oneStatement(url, sqliteForms())
      return url
    },
  }
}

/** Makes what statements for SQLite call by other names. */
export function sqliteForms(): string {
  return readFileSync(new URL('sqlite-forms.sql', import.meta.url), 'utf8')
}
