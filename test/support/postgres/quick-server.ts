import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NEW, postgresPrograms, startPostgres, type PostgresServer } from '../../../bench/postgres-server.ts'

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
