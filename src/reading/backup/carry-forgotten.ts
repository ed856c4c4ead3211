import type Database from 'better-sqlite3'
import { uuidsIn } from '../../customer.ts'
import { idHash } from '../../privacy/forgotten.ts'
import { purgeCustomer } from '../../store/forget/forget-customer.ts'
import { sqliteSession } from '../../store/port/sqlite-store.ts'

type Key = { organization: string; key: Buffer }
type Run = { id: number; started_at: string }
type Forgotten = { hash: string; forgotten_at: string }

/** How many were not yet forgotten in the backup and stay so, and how many the restored mirror may not recognize. */
export type CarriedForgotten = { forgotten: number; unrecognized: number }

/** Takes over who is forgotten, and deletes from the restored mirror what the backup still holds of them. */
export async function carryForgotten(from: Database.Database, to: Database.Database): Promise<CarriedForgotten> {
  const carried: CarriedForgotten[] = []
  for (const one of keysIn(from)) carried.push(await carryOrganization(from, to, one))
  return {
    forgotten: carried.reduce((sum, one) => sum + one.forgotten, 0),
    unrecognized: carried.reduce((sum, one) => sum + one.unrecognized, 0),
  }
}

function keysIn(db: Database.Database): Key[] {
  return db.prepare<[], Key>('SELECT organization, key FROM forgotten_keys').all()
}

async function carryOrganization(
  from: Database.Database,
  to: Database.Database,
  { organization, key }: Key,
): Promise<CarriedForgotten> {
  const hashes = from
    .prepare<[string], Forgotten>('SELECT hash, forgotten_at FROM forgotten WHERE organization = ?')
    .all(organization)
  const name = nameInBackup(from, to, organization)
  const keyInBackup =
    keysIn(to).find((one) => one.organization === name)?.key ?? addKey(to, { organization: name, key })
  const add = to.prepare(
    'INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const isSameKey = keyInBackup.equals(key)
  const has = to.prepare('SELECT 1 FROM forgotten WHERE organization = ? AND hash = ?')
  const fresh = isSameKey ? hashes.filter(({ hash }) => has.get(name, hash) === undefined) : hashes
  if (fresh.length === 0) return { forgotten: 0, unrecognized: 0 }
  const known = idsUnder(to, { organization: name, key }, new Set(fresh.map(({ hash }) => hash)))
  const hashInBackup = idHash(keyInBackup)
  for (const { hash, forgotten_at } of fresh) {
    const id = known.get(hash)
    // A hash under the key of a mirror that was begun anew is of use only where the backup shows whose it is.
    if (isSameKey || id !== undefined) add.run(name, id === undefined ? hash : hashInBackup(id), forgotten_at)
    if (id !== undefined) await purgeCustomer(sqliteSession(to), { organization: name, id })
  }
  const unrecognized = isSameKey ? 0 : fresh.length - known.size
  return { forgotten: fresh.length - unrecognized, unrecognized }
}

/** Its name when the backup was made: the one that has its runs there, since to rename an organization renames its runs. */
export function nameInBackup(from: Database.Database, to: Database.Database, organization: string): string {
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

function addKey(db: Database.Database, { organization, key }: Key): Buffer {
  db.prepare('INSERT INTO forgotten_keys (organization, key) VALUES (?, ?)').run(organization, key)
  return key
}

/** The ids in the rows of an organization that have one of these hashes, by hash. */
function idsUnder(db: Database.Database, { organization, key }: Key, hashes: ReadonlySet<string>): Map<string, string> {
  const hashOf = idHash(key)
  const ids = db
    .prepare<[Record<string, string>], string>(
      `SELECT id FROM customers WHERE organization = @organization
       UNION SELECT id FROM changes WHERE organization = @organization`,
    )
    .pluck()
    .all({ organization })
  const all = [...ids, ...idsInTexts(db, organization)]
  return new Map(all.map((id) => [hashOf(id), id] as const).filter(([hash]) => hashes.has(hash)))
}

/** A record that could not be kept may have its id in any form, or name another one; a certificate names who was found. */
function idsInTexts(db: Database.Database, organization: string): Set<string> {
  const texts = db
    .prepare<[Record<string, string>], string>(
      `SELECT payload FROM rejects WHERE organization = @organization
       UNION ALL SELECT record_id FROM rejects WHERE organization = @organization AND record_id IS NOT NULL
       UNION ALL SELECT CAST(certificate AS TEXT) FROM runs WHERE organization = @organization AND certificate IS NOT NULL`,
    )
    .pluck()
  const found = new Set<string>()
  for (const text of texts.iterate({ organization })) for (const id of uuidsIn(text)) found.add(id)
  return found
}
