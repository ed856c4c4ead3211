import { randomBytes } from 'node:crypto'
import { FORGOTTEN_KEY_BYTES, forgottenBy, idHash, type Forgotten } from '../../../privacy/forgotten.ts'
import type { Connection } from '../opening/database.ts'
import { sqlTime, timeIn } from '../../sql/sql-time.ts'
import { statement } from '../statement.ts'

/** The forgotten customers of an organization; undefined if there are none. */
export function loadForgotten(db: Connection, organization: string): Forgotten | undefined {
  const rows = statement<[string], { number: number; hash: string }>(
    db,
    'SELECT number, hash FROM forgotten WHERE organization = ?',
  ).all(organization)
  const numbers = new Map(rows.map(({ number, hash }) => [hash, number]))
  return forgottenBy(organization, storedKey(db, organization), numbers)
}

/** Since when a customer is forgotten, in Unix milliseconds; undefined if it is not. The caller holds a transaction. */
export function forgottenSinceMs(db: Connection, organization: string, id: string): number | undefined {
  const key = storedKey(db, organization)
  if (key === undefined) return undefined
  const found = statement<[string, string], string>(
    db,
    'SELECT forgotten_at FROM forgotten WHERE organization = ? AND hash = ?',
  )
    .pluck()
    .get(organization, idHash(key)(id))
  return timeIn(found)
}

/** Keeps the hash of an id, so that the customer stays forgotten. The caller holds a transaction that may write. */
export function rememberForgotten(db: Connection, organization: string, id: string, nowMs: number): void {
  const key = storedKey(db, organization) ?? makeKey(db, organization)
  statement(db, 'INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING').run(
    organization,
    idHash(key)(id),
    sqlTime(nowMs),
  )
}

/** Deletes the hash of an id; whether there was one. The caller holds a transaction that may write. */
export function deleteForgotten(db: Connection, organization: string, id: string): boolean {
  const key = storedKey(db, organization)
  if (key === undefined) return false
  const sql = 'DELETE FROM forgotten WHERE organization = ? AND hash = ?'
  return statement(db, sql).run(organization, idHash(key)(id)).changes > 0
}

function makeKey(db: Connection, organization: string): Uint8Array {
  const key = randomBytes(FORGOTTEN_KEY_BYTES)
  statement(db, 'INSERT INTO forgotten_keys (organization, key) VALUES (?, ?)').run(organization, key)
  return key
}

function storedKey(db: Connection, organization: string): Uint8Array | undefined {
  const find = statement<[string], Uint8Array>(db, 'SELECT key FROM forgotten_keys WHERE organization = ?')
  return find.pluck().get(organization)
}
