import { mirrorFault } from '../errors/faults.ts'
import { uuidsIn } from '../model/customer.ts'
import { idHash } from '../privacy/forgotten.ts'
import { purgeCustomer } from './forget.ts'
import { purge, sqliteSession } from './port/sqlite-store.ts'
import type { Connection } from './sqlite/connect.ts'
import { isWhole, openDatabase } from './sqlite/open-database.ts'
import { continueAfter, lastNumber, numberIn } from './sqlite/open-to-read.ts'

/**
 * Takes from the mirror that is about to be replaced, where it can be read, what must not go back in time: the numbers of changes and runs,
 * the greatest `updated_at`, and who is forgotten. It goes into the copy of the backup at `path`; nothing is left there of the forgotten.
 */
export async function carryInto(path: string, replaced: Connection | undefined, nowMs: number) {
  const restored = openDatabase(path, 'write')
  try {
    restored.pragma('journal_mode = DELETE')
    // What is deleted is overwritten in the file. An error closes it, and it is not used.
    restored.pragma('secure_delete = ON')
    restored.exec('BEGIN')
    // Nothing of a mirror of another version, or without all of its tables, can be carried over.
    const from = replaced !== undefined && isWhole(replaced) ? replaced : undefined
    const onlyInBackup = carryFeed(from, restored, nowMs)
    const { forgotten, unrecognized } = await carryForgotten(from, restored)
    restored.exec('COMMIT')
    // Earlier values of forgotten customers may stand in free space of the backup.
    if (forgotten > 0 && !purge(restored)) {
      const said = 'what is left of forgotten customers could not be erased. Nothing was restored'
      throw mirrorFault(path, { fault: 'full', said })
    }
    const count = (what: string) => numberIn(restored, `SELECT COUNT(${what}) FROM customers`)
    const held = { customers: count('*'), organizations: count('DISTINCT organization') }
    return { forgotten: from && forgotten, unrecognized, onlyInBackup, ...held }
  } finally {
    restored.close()
  }
}

/**
 * Goes on with the numbers that were given out, and has every reader of the feed begin with a new copy. Nothing shows which numbers a mirror
 * gave out that is lost or was begun anew; readers remember them, so numbers go on from the time then, of which no mirror has had as many:
 * milliseconds for changes, seconds for runs. Returns the organizations that the replaced mirror does not have.
 */
function carryFeed(from: Connection | undefined, to: Connection, nowMs: number): string[] {
  const before = from ?? to
  const textsIn = (db: Connection, statement: string) => db.prepare<[], string>(statement).pluck().all()
  const mirrored = 'SELECT DISTINCT organization FROM runs ORDER BY 1'
  const [restored, known] = [textsIn(to, mirrored), textsIn(before, mirrored)]
  // Every mirror makes a key for itself, which its backups have too.
  const key = 'SELECT hex(key) FROM fingerprint_key'
  const isOne = from !== undefined && textsIn(from, key)[0] === textsIn(to, key)[0]
  const given = (table: string) => Math.max(lastNumber(to, table), lastNumber(before, table))
  const numbers = {
    // A reader who has read all of the replaced feed has read less than one number more.
    changes: Math.max(given('changes') + 1, isOne ? 0 : nowMs),
    runs: Math.max(given('runs'), isOne ? 0 : Math.floor(nowMs / 1000)),
    forgotten: given('forgotten'),
  }
  for (const [table, seq] of Object.entries(numbers)) continueAfter(to, table, seq)
  const [stamp] = textsIn(before, 'SELECT updated_at FROM last_update')
  to.prepare('UPDATE last_update SET updated_at = max(updated_at, coalesce(?, updated_at))').run(stamp)
  // Readers of an organization that came after the backup have rows of it, too.
  const came = known.filter((organization) => nameInBackup(before, to, organization) === organization)
  to.prepare(
    `INSERT INTO horizons (organization, feed_seq) SELECT DISTINCT value, ? FROM json_each(?) WHERE true
     ON CONFLICT DO UPDATE SET feed_seq = excluded.feed_seq`,
  ).run(numbers.changes, JSON.stringify([...restored, ...came]))
  return restored.filter((organization) => !known.includes(organization))
}

/** Takes over who is forgotten, and deletes what the backup holds of them. `unrecognized`: under another key, and not found in the backup. */
async function carryForgotten(from: Connection | undefined, to: Connection) {
  const carried = { forgotten: 0, unrecognized: 0 }
  if (from === undefined) return carried
  const add = to.prepare(
    'INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const keys = from.prepare<[], { organization: string; key: Buffer }>('SELECT organization, key FROM forgotten_keys')
  const hashes = from.prepare<[string], { hash: string; at: string }>(
    'SELECT hash, forgotten_at AS at FROM forgotten WHERE organization = ?',
  )
  const keyOf = to.prepare<[string], Buffer>('SELECT key FROM forgotten_keys WHERE organization = ?').pluck()
  for (const { organization, key } of keys.all()) {
    const name = nameInBackup(from, to, organization)
    to.prepare('INSERT INTO forgotten_keys (organization, key) VALUES (?, ?) ON CONFLICT DO NOTHING').run(name, key)
    const ownKey = keyOf.get(name)
    const known = idsByHash(to, name, key)
    for (const { hash, at } of hashes.all(organization)) {
      const id = known.get(hash)
      // A hash under the key of a mirror that was begun anew is of use only where the backup shows whose it is.
      const ownHash = ownKey === undefined || ownKey.equals(key) ? hash : id && idHash(ownKey)(id)
      if (id !== undefined) await purgeCustomer(sqliteSession(to), { organization: name, id })
      if (ownHash === undefined) carried.unrecognized += 1
      else carried.forgotten += add.run(name, ownHash, at).changes
    }
  }
  return carried
}

/** Its name when the backup was made: the one that has its runs there, since to rename an organization renames its runs. */
function nameInBackup(from: Connection, to: Connection, organization: string): string {
  const runs = from.prepare<[string]>('SELECT id, started_at FROM runs WHERE organization = ? ORDER BY id')
  const inBackup = to.prepare<[string], string>(
    `SELECT runs.organization FROM json_each(?) AS known
     JOIN runs ON runs.id = known.value ->> 'id' AND runs.started_at = known.value ->> 'started_at'
     GROUP BY runs.organization ORDER BY COUNT(*) DESC LIMIT 1`,
  )
  return inBackup.pluck().get(JSON.stringify(runs.all(organization))) ?? organization
}

/** The ids in the rows of an organization, by their hashes: also those in any form in a reject, and those that a certificate names. */
function idsByHash(db: Connection, organization: string, key: Buffer): Map<string, string> {
  const texts = db
    .prepare<[Record<string, string>], string>(
      `SELECT id FROM customers WHERE organization = @organization
       UNION SELECT id FROM changes WHERE organization = @organization
       UNION SELECT payload || ' ' || coalesce(record_id, '') FROM rejects WHERE organization = @organization
       UNION SELECT coalesce(certificate, '') FROM runs WHERE organization = @organization`,
    )
    .pluck()
  const hashOf = idHash(key)
  const found = new Map<string, string>()
  for (const text of texts.iterate({ organization })) for (const id of uuidsIn(text)) found.set(hashOf(id), id)
  return found
}
