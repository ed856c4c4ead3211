import Database from 'better-sqlite3'
import { readdirSync, readFileSync } from 'node:fs'
import { APPLICATION_ID } from '../../src/mirror/sqlite/opening/file-mark.ts'
import { customerId } from './builders.ts'
import { aMirrorFile } from './mirror-file.ts'

const MIGRATIONS = new URL('../../src/mirror/sqlite/migrations/', import.meta.url)

/** When its run was. */
export const AT = '2026-01-04 02:00:00.000'

/** A mirror as the first version left it, with one customer. */
export function aFirstMirror(): string {
  const file = aMirrorFile()
  const db = new Database(file)
  const [first = ''] = readdirSync(MIGRATIONS).toSorted()
  db.exec(readFileSync(new URL(first, MIGRATIONS), 'utf8'))
  db.exec(`INSERT INTO runs (id, organization, "trigger", started_at, finished_at, data_as_of, status, proof)
    VALUES (1, 'acme', 'sync', '${AT}', '${AT}', '${AT}', 'complete', 'proven');
    INSERT INTO customers (organization, id, name, first_seen_at, changed_at, last_run_id)
    VALUES ('acme', '${customerId(1)}', 'Ada', '${AT}', '${AT}', 1)`)
  db.pragma(`application_id = ${APPLICATION_ID}`)
  db.pragma('user_version = 1')
  db.close()
  return file
}
