import type Database from 'better-sqlite3'
import { idHash } from '../../forgotten.ts'
import { purgeCustomer } from '../../mirror/sqlite/forget/purge-customer.ts'
import { forgetWindows } from '../../mirror/sqlite/windows.ts'
import { hasTable } from '../has-table.ts'

type Key = { organization: string; key: Buffer }
type Run = { id: number; started_at: string }
type Forgotten = { hash: string; forgotten_at: string }

/**
 * Takes over who is forgotten, and deletes from the restored mirror what the backup still holds of them. Returns the number of those
 * who were not yet forgotten in the backup.
 */
export function carryForgotten(from: Database.Database, to: Database.Database): number {
  if (!hasTable(from, 'forgotten_keys')) return 0
  return keysIn(from).reduce((sum, one) => sum + carryOrganization(from, to, one), 0)
}

function keysIn(db: Database.Database): Key[] {
  return db.prepare<[], Key>('SELECT organization, key FROM forgotten_keys').all()
}

function carryOrganization(from: Database.Database, to: Database.Database, { organization, key }: Key): number {
  const hashes = from
    .prepare<[string], Forgotten>('SELECT hash, forgotten_at FROM forgotten WHERE organization = ?')
    .all(organization)
  const name = nameInBackup(from, to, organization)
  takeKey(to, { organization: name, key })
  const add = to.prepare(
    'INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const added = hashes.filter(({ hash, forgotten_at }) => add.run(name, hash, forgotten_at).changes > 0)
  if (added.length === 0) return 0
  const isAdded = new Set(added.map(({ hash }) => hash))
  for (const id of idsUnder(to, { organization: name, key }, isAdded)) purgeCustomer(to, { organization: name, id })
  return added.length
}

/** Its name when the backup was made: the one that has its runs there, since to rename an organization renames its runs. */
function nameInBackup(from: Database.Database, to: Database.Database, organization: string): string {
  const runs = from
    .prepare<[string], Run>('SELECT id, started_at FROM runs WHERE organization = ? ORDER BY id')
    .all(organization)
  const inBackup = to
    .prepare<[string], { organization: string }>(
      `SELECT runs.organization FROM json_each(?) AS known
       JOIN runs ON runs.id = known.value ->> 'id' AND runs.started_at = known.value ->> 'started_at'
       GROUP BY runs.organization ORDER BY COUNT(*) DESC LIMIT 1`,
    )
    .get(JSON.stringify(runs))
  return inBackup?.organization ?? organization
}

/** A key of the backup that is another one comes from another mirror: its hashes cannot be compared with those under this key. */
function takeKey(db: Database.Database, { organization, key }: Key): void {
  const found = keysIn(db).find((one) => one.organization === organization)
  if (found?.key.equals(key) === true) return
  if (found !== undefined) {
    db.prepare('DELETE FROM forgotten WHERE organization = ?').run(organization)
    db.prepare('DELETE FROM forgotten_keys WHERE organization = ?').run(organization)
    // A window of an interrupted run that holds their numbers is not read again.
    forgetWindows(db, organization)
  }
  db.prepare('INSERT INTO forgotten_keys (organization, key) VALUES (?, ?)').run(organization, key)
}

/** The ids in the rows of an organization that have one of these hashes. */
function idsUnder(db: Database.Database, { organization, key }: Key, hashes: ReadonlySet<string>): string[] {
  const hashOf = idHash(key)
  return db
    .prepare<[Record<string, string>], string>(
      `SELECT id FROM customers WHERE organization = @organization
       UNION SELECT id FROM changes WHERE organization = @organization
       UNION SELECT record_id FROM rejects WHERE organization = @organization AND record_id IS NOT NULL`,
    )
    .pluck()
    .all({ organization })
    .filter((id) => hashes.has(hashOf(id)))
}
