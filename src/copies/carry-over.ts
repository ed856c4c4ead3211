import type Database from 'better-sqlite3'
import { uuidsIn } from '../model/customer.ts'
import { idHash } from '../privacy/forgotten.ts'
import { purgeCustomer } from '../store/forget.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import { mirroredIn } from './organizations.ts'
import { lastNumber } from './selection.ts'

type Db = Database.Database

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
export async function carryOver(from: Db | undefined, to: Db, nowMs: number): Promise<CarriedOver> {
  const restored = mirroredIn(to)
  const known = from === undefined ? restored : mirroredIn(from)
  const onlyInBackup = restored.filter((organization) => !known.includes(organization))
  const given = (table: string) => Math.max(...[to, from].map((db) => (db === undefined ? 0 : lastNumber(db, table))))
  const stamp = textIn(from, 'SELECT updated_at FROM last_update')
  const isBehind =
    given('changes') > lastNumber(to, 'changes') || stamp > textIn(to, 'SELECT updated_at FROM last_update')
  // Every mirror makes a key for itself, which its backups have too.
  const isAnother = from === undefined || textIn(from, KEY) !== textIn(to, KEY)
  // To forget an organization leaves neither a change nor a later row, and its readers have deleted it.
  const feedGoesBack = isBehind || isAnother || onlyInBackup.length > 0
  // A reader who has read all of the replaced feed has read less than one number more.
  setLastNumber(to, 'changes', Math.max(given('changes') + (feedGoesBack ? 1 : 0), isAnother ? nowMs : 0))
  setLastNumber(to, 'runs', Math.max(given('runs'), isAnother ? Math.floor(nowMs / 1000) : 0))
  setLastNumber(to, 'forgotten', given('forgotten'))
  to.prepare('UPDATE last_update SET updated_at = max(updated_at, ?)').run(stamp)
  if (feedGoesBack) {
    // Readers of an organization that came after the backup have rows of it, too.
    const came = known.filter((id) => from !== undefined && nameInBackup(from, to, id) === id)
    to.prepare(
      `INSERT INTO horizons (organization, feed_seq) SELECT DISTINCT value, ? FROM json_each(?) WHERE true
       ON CONFLICT DO UPDATE SET feed_seq = excluded.feed_seq`,
    ).run(lastNumber(to, 'changes'), JSON.stringify([...restored, ...came]))
  }
  const forgotten = from === undefined ? { forgotten: undefined, unrecognized: 0 } : await carryForgotten(from, to)
  return { feedGoesBack, ...forgotten, onlyInBackup }
}

const KEY = 'SELECT hex(key) FROM fingerprint_key'

function textIn(db: Db | undefined, statement: string): string {
  return db?.prepare<[], string>(statement).pluck().get() ?? ''
}

function setLastNumber(db: Db, table: string, seq: number): void {
  db.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table)
  db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(table, seq)
}

/** Takes over who is forgotten, and deletes from the restored mirror what the backup still holds of them. */
async function carryForgotten(from: Db, to: Db): Promise<{ forgotten: number; unrecognized: number }> {
  const keysIn = (db: Db) =>
    db.prepare<[], { organization: string; key: Buffer }>('SELECT organization, key FROM forgotten_keys').all()
  const addKey = to.prepare('INSERT INTO forgotten_keys (organization, key) VALUES (?, ?)')
  const add = to.prepare(
    'INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const has = to.prepare('SELECT 1 FROM forgotten WHERE organization = ? AND hash = ?')
  const hashes = from.prepare<[string], { hash: string; forgotten_at: string }>(
    'SELECT hash, forgotten_at FROM forgotten WHERE organization = ?',
  )
  const carried = { forgotten: 0, unrecognized: 0 }
  for (const { organization, key } of keysIn(from)) {
    const name = nameInBackup(from, to, organization)
    const ofBackup = keysIn(to).find((one) => one.organization === name)?.key
    if (ofBackup === undefined) addKey.run(name, key)
    const isSameKey = ofBackup?.equals(key) ?? true
    const fresh = hashes.all(organization).filter(({ hash }) => !isSameKey || has.get(name, hash) === undefined)
    const known = fresh.length === 0 ? new Map<string, string>() : idsByHash(to, name, key)
    for (const { hash, forgotten_at } of fresh) {
      const id = known.get(hash)
      // A hash under the key of a mirror that was begun anew is of use only where the backup shows whose it is.
      if (isSameKey || id !== undefined)
        add.run(name, id === undefined ? hash : idHash(ofBackup ?? key)(id), forgotten_at)
      if (id !== undefined) await purgeCustomer(sqliteSession(to), { organization: name, id })
      carried[isSameKey || id !== undefined ? 'forgotten' : 'unrecognized'] += 1
    }
  }
  return carried
}

/** Its name when the backup was made: the one that has its runs there, since to rename an organization renames its runs. */
function nameInBackup(from: Db, to: Db, organization: string): string {
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
function idsByHash(db: Db, organization: string, key: Buffer): Map<string, string> {
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
