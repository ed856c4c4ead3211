import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { postgresPrograms, startPostgres, type PostgresServer } from '../../../bench/postgres-server.ts'

const KEPT = new URL('../../../node_modules/.cache/customer-mirror-tests/', import.meta.url)

/**
 * Starts a PostgreSQL of its own that is fast instead of durable. To make its files takes half a second of a processor, so they are
 * kept for the next one, by the version of the server.
 */
export function startQuickPostgres(): Promise<PostgresServer> {
  const { stdout } = spawnSync(join(postgresPrograms() ?? '', 'postgres'), ['--version'], { encoding: 'utf8' })
  const [version = 'unknown'] = /\d+[\w.]*/.exec(stdout) ?? []
  return startPostgres({ isDurable: false, newFiles: fileURLToPath(new URL(`postgres-${version}.tar`, KEPT)) })
}
