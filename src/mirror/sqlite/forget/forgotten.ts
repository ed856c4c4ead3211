import { randomBytes } from 'node:crypto'
import { FORGOTTEN_KEY_BYTES, forgottenBy, idHash, type Forgotten } from '../../../privacy/forgotten.ts'
import type { Connection } from '../database.ts'
import { sqlTime, timeIn } from '../../sql-time.ts'
import { statement } from '../statement.ts'

/** The forgotten customers of an organization; undefined if there are none, so that no record is hashed. */
export function loadForgotten(db: Connection, organization: string): Forgotten | undefined {
  const rows = statement<[string], { number: number; hash: string }>(
    db,
    'SELECT number, hash FROM forgotten WHERE organization = ?',
  ).all(organization)
  if (rows.length === 0) return undefined
  return forgottenBy(keyOf(db, organization), new Map(rows.map(({ number, hash }) => [hash, number])))
}

/** Since when a customer is forgotten, in Unix milliseconds; undefined if it is not. The caller holds a transaction. */
export function forgottenSinceMs(db: Connection, organization: string, id: string): number | undefined {
  if (storedKey(db, organization) === undefined) return undefined
  const found = statement<[string, string], string>(
    db,
    'SELECT forgotten_at FROM forgotten WHERE organization = ? AND hash = ?',
  )
    .pluck()
    .get(organization, idHash(keyOf(db, organization))(id))
  return timeIn(found)
}

/** Keeps the hash of an id, so that the customer stays forgotten. The caller holds a transaction that may write. */
export function rememberForgotten(db: Connection, organization: string, id: string, nowMs: number): void {
  if (storedKey(db, organization) === undefined)
    statement(db, 'INSERT INTO forgotten_keys (organization, key) VALUES (?, ?)').run(
      organization,
      randomBytes(FORGOTTEN_KEY_BYTES),
    )
  statement(db, 'INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING').run(
    organization,
    idHash(keyOf(db, organization))(id),
    sqlTime(nowMs),
  )
}

/** Deletes the hash of an id; whether there was one. The caller holds a transaction that may write. */
export function deleteForgotten(db: Connection, organization: string, id: string): boolean {
  if (storedKey(db, organization) === undefined) return false
  const hash = idHash(keyOf(db, organization))(id)
  return statement(db, 'DELETE FROM forgotten WHERE organization = ? AND hash = ?').run(organization, hash).changes > 0
}

function keyOf(db: Connection, organization: string): Uint8Array {
  const key = storedKey(db, organization)
  // Without its key no hash can be compared, and every forgotten customer would come back.
  if (key === undefined) throw new Error(`forgotten customers of ${organization} have no key`)
  return key
}

function storedKey(db: Connection, organization: string): Uint8Array | undefined {
  const find = statement<[string], Uint8Array>(db, 'SELECT key FROM forgotten_keys WHERE organization = ?')
  return find.pluck().get(organization)
}
