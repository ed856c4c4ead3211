import type Database from 'better-sqlite3'
import { uuidsIn } from '../model/customer.ts'
import { idHash } from '../privacy/forgotten.ts'
import { purgeCustomer } from '../store/forget.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import { mirroredIn } from './organizations.ts'
import { lastNumber } from './selection.ts'

/** What a restored mirror has of the one that it replaces. */
export type CarriedOver = {
  /** Whether readers of the feed of the replaced mirror know, or may know, something else than the backup: then they need a new copy. */
  feedGoesBack: boolean
  /** How many customers were not yet forgotten in the backup and stay so; undefined where there is no replaced mirror that can be read. */
  forgotten: number | undefined
  /** How many were forgotten in the replaced mirror under another key, so that the restored one may not recognize them. */
  unrecognized: number
  /** Organizations that the replaced mirror does not have: they were renamed or forgotten after the backup. */
  onlyInBackup: string[]
}

/**
 * Takes from the mirror that is about to be replaced what must not go back in time: the numbers of changes and runs, the greatest
 * `updated_at`, and who is forgotten. Nothing shows which numbers a mirror gave out that is lost or was begun anew; readers and copies remember
 * them, so numbers go on from the time, of which no mirror has had as many: milliseconds for changes, seconds for runs.
 */
export async function carryOver(
  from: Database.Database | undefined,
  to: Database.Database,
  nowMs: number,
): Promise<CarriedOver> {
  const restored = mirroredIn(to)
  const known = from === undefined ? restored : mirroredIn(from)
  const onlyInBackup = restored.filter((organization) => !known.includes(organization))
  const given = (table: string) => Math.max(lastNumber(to, table), from === undefined ? 0 : lastNumber(from, table))
  const stamp = from === undefined ? '' : lastUpdate(from)
  const isBehind = given('changes') > lastNumber(to, 'changes') || stamp > lastUpdate(to)
  // To forget an organization leaves neither a change nor a later row, and its readers have deleted it.
  const isAnother = from === undefined || keyIn(from) !== keyIn(to)
  const feedGoesBack = isBehind || isAnother || onlyInBackup.length > 0
  // A reader who has read all of the replaced feed has read less than one number more.
  setLastNumber(to, 'changes', Math.max(given('changes') + (feedGoesBack ? 1 : 0), isAnother ? nowMs : 0))
  setLastNumber(to, 'runs', Math.max(given('runs'), isAnother ? Math.floor(nowMs / 1000) : 0))
  setLastNumber(to, 'forgotten', given('forgotten'))
  to.prepare('UPDATE last_update SET updated_at = max(updated_at, ?)').run(stamp)
  // Readers of an organization that came after the backup have rows of it, too.
  const came = known.filter((id) => from !== undefined && nameInBackup(from, to, id) === id)
  if (feedGoesBack) askForNewCopies(to, [...restored, ...came])
  const forgotten = from === undefined ? { forgotten: undefined, unrecognized: 0 } : await carryForgotten(from, to)
  return { feedGoesBack, ...forgotten, onlyInBackup }
}

/** The key that every mirror makes for itself and its backups have too. */
function keyIn(db: Database.Database): string | undefined {
  return db.prepare<[], string>('SELECT hex(key) FROM fingerprint_key').pluck().get()
}

function askForNewCopies(db: Database.Database, organizations: readonly string[]): void {
  db.prepare(
    `INSERT INTO horizons (organization, feed_seq) SELECT DISTINCT value, ? FROM json_each(?) WHERE true
     ON CONFLICT DO UPDATE SET feed_seq = excluded.feed_seq`,
  ).run(lastNumber(db, 'changes'), JSON.stringify(organizations))
}

function setLastNumber(db: Database.Database, table: string, seq: number): void {
  db.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table)
  db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(table, seq)
}

function lastUpdate(db: Database.Database): string {
  return db.prepare<[], string>('SELECT updated_at FROM last_update').pluck().get() ?? ''
}

type Key = { organization: string; key: Buffer }

/** Takes over who is forgotten, and deletes from the restored mirror what the backup still holds of them. */
async function carryForgotten(
  from: Database.Database,
  to: Database.Database,
): Promise<{ forgotten: number; unrecognized: number }> {
  const add = to.prepare(
    'INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const has = to.prepare('SELECT 1 FROM forgotten WHERE organization = ? AND hash = ?')
  const carried = { forgotten: 0, unrecognized: 0 }
  for (const { organization, key } of keysIn(from)) {
    const name = nameInBackup(from, to, organization)
    const keyInBackup = keysIn(to).find((one) => one.organization === name)?.key ?? addKey(to, name, key)
    const isSameKey = keyInBackup.equals(key)
    const fresh = from
      .prepare<[string], { hash: string; forgotten_at: string }>(
        'SELECT hash, forgotten_at FROM forgotten WHERE organization = ?',
      )
      .all(organization)
      .filter(({ hash }) => !isSameKey || has.get(name, hash) === undefined)
    if (fresh.length === 0) continue
    const known = idsByHash(to, name, key)
    for (const { hash, forgotten_at } of fresh) {
      const id = known.get(hash)
      // A hash under the key of a mirror that was begun anew is of use only where the backup shows whose it is.
      if (isSameKey || id !== undefined) add.run(name, id === undefined ? hash : idHash(keyInBackup)(id), forgotten_at)
      if (id !== undefined) await purgeCustomer(sqliteSession(to), { organization: name, id })
      carried[isSameKey || id !== undefined ? 'forgotten' : 'unrecognized'] += 1
    }
  }
  return carried
}

function keysIn(db: Database.Database): Key[] {
  return db.prepare<[], Key>('SELECT organization, key FROM forgotten_keys').all()
}

function addKey(db: Database.Database, organization: string, key: Buffer): Buffer {
  db.prepare('INSERT INTO forgotten_keys (organization, key) VALUES (?, ?)').run(organization, key)
  return key
}

/** Its name when the backup was made: the one that has its runs there, since to rename an organization renames its runs. */
function nameInBackup(from: Database.Database, to: Database.Database, organization: string): string {
  const runs = from.prepare<[string]>('SELECT id, started_at FROM runs WHERE organization = ? ORDER BY id')
  const inBackup = to.prepare<[string], string>(
    `SELECT runs.organization FROM json_each(?) AS known
     JOIN runs ON runs.id = known.value ->> 'id' AND runs.started_at = known.value ->> 'started_at'
     GROUP BY runs.organization ORDER BY COUNT(*) DESC LIMIT 1`,
  )
  return inBackup.pluck().get(JSON.stringify(runs.all(organization))) ?? organization
}

/**
 * The ids in the rows of an organization, by their hashes. A record that could not be kept may have its id in any form, or name another one;
 * a certificate names who was found.
 */
function idsByHash(db: Database.Database, organization: string, key: Buffer): Map<string, string> {
  const texts = db
    .prepare<[Record<string, string>], string>(
      `SELECT id FROM customers WHERE organization = @organization
       UNION ALL SELECT id FROM changes WHERE organization = @organization
       UNION ALL SELECT payload FROM rejects WHERE organization = @organization
       UNION ALL SELECT record_id FROM rejects WHERE organization = @organization AND record_id IS NOT NULL
       UNION ALL SELECT CAST(certificate AS TEXT) FROM runs WHERE organization = @organization AND certificate IS NOT NULL`,
    )
    .pluck()
  const hashOf = idHash(key)
  const found = new Map<string, string>()
  for (const text of texts.iterate({ organization })) for (const id of uuidsIn(text)) found.set(hashOf(id), id)
  return found
}
