import type Database from 'better-sqlite3'
import { idHash } from '../../forgotten.ts'
import { purgeCustomer } from '../../mirror/purge-customer.ts'
import { hasTable } from './has-table.ts'

type Organization = { organization: string; key: Buffer }

/**
 * Takes over who is forgotten, and deletes from the restored mirror what the backup still holds of them. Returns the number of those
 * who were not yet forgotten in the backup.
 */
export function carryForgotten(from: Database.Database, to: Database.Database): number {
  if (!hasTable(from, 'forgotten_keys')) return 0
  const organizations = from.prepare<[], Organization>('SELECT organization, key FROM forgotten_keys').all()
  return organizations.reduce((sum, organization) => sum + carryOrganization(from, to, organization), 0)
}

function carryOrganization(
  from: Database.Database,
  to: Database.Database,
  { organization, key }: Organization,
): number {
  const there = to.prepare<[string], Buffer>('SELECT key FROM forgotten_keys WHERE organization = ?').pluck()
  const found = there.get(organization)
  if (found !== undefined && !found.equals(key)) {
    // It comes from another mirror: its hashes cannot be compared with those under this key.
    to.prepare('DELETE FROM forgotten WHERE organization = ?').run(organization)
    to.prepare('DELETE FROM forgotten_keys WHERE organization = ?').run(organization)
  }
  to.prepare('INSERT INTO forgotten_keys (organization, key) VALUES (?, ?) ON CONFLICT DO NOTHING').run(
    organization,
    key,
  )
  const add = to.prepare(
    'INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const hashes = from
    .prepare<[string], { hash: string; forgotten_at: string }>(
      'SELECT hash, forgotten_at FROM forgotten WHERE organization = ?',
    )
    .all(organization)
  const added = hashes.filter(({ hash, forgotten_at }) => add.run(organization, hash, forgotten_at).changes > 0)
  if (added.length > 0) purgeForgotten(to, { organization, key }, new Set(added.map(({ hash }) => hash)))
  return added.length
}

function purgeForgotten(db: Database.Database, { organization, key }: Organization, hashes: ReadonlySet<string>): void {
  const hashOf = idHash(key)
  const ids = db
    .prepare<[Record<string, string>], string>(
      `SELECT id FROM customers WHERE organization = @organization
       UNION SELECT id FROM changes WHERE organization = @organization
       UNION SELECT record_id FROM rejects WHERE organization = @organization AND record_id IS NOT NULL`,
    )
    .pluck()
    .all({ organization })
  for (const id of ids) if (hashes.has(hashOf(id))) purgeCustomer(db, { organization, id })
}
