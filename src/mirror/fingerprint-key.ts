import { randomBytes } from 'node:crypto'
import { KEY_BYTES } from '../fingerprint.ts'
import type { Connection } from './database.ts'
import { statement } from './statement.ts'

/**
 * The key of this mirror's fingerprints, which is made the first time it is asked for. The caller holds a transaction that may
 * write. What was remembered under another key, or without one, is not known again by its records, and comes to no harm.
 */
export function fingerprintKey(db: Connection): Uint8Array {
  const stored = statement<[], Uint8Array>(db, 'SELECT key FROM fingerprint_key').pluck().get()
  if (stored?.length === KEY_BYTES) return stored
  const key = randomBytes(KEY_BYTES)
  statement(db, 'REPLACE INTO fingerprint_key (id, key) VALUES (1, ?)').run(key)
  return key
}
