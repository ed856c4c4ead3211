import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  NEW,
  oneStatement,
  postgresPrograms,
  type PostgresServer,
  startPostgres,
} from '../../../bench/postgres-server.ts'

/** A server whose databases understand what statements for SQLite call by other names. */
type TestServer = PostgresServer & {
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

const KEPT = new URL('../../../node_modules/.cache/customer-mirror-tests/', import.meta.url)

/**
 * Starts a PostgreSQL of its own that is fast instead of durable. To make its files takes half a second of a processor, so they are
 * kept for the next one, by the version of the server and by how they are made.
 */
export function startQuickPostgres(): Promise<PostgresServer> {
  const { stdout } = spawnSync(join(postgresPrograms() ?? '', 'postgres'), ['--version'], { encoding: 'utf8' })
  const [version = 'unknown'] = /\d+[\w.]*/.exec(stdout) ?? []
  const how = hash('sha256', NEW.join(' ')).slice(0, 8)
  return startPostgres({ isDurable: false, newFiles: fileURLToPath(new URL(`postgres-${version}-${how}.tar`, KEPT)) })
}
