import { randomBytes } from 'node:crypto'
import { KEY_BYTES } from '../../list/fingerprint.ts'
import type { Connection } from './opening/database.ts'
import { statement } from './statement.ts'

/**
 * The key of this mirror's fingerprints, created at first use. The caller holds a transaction that may write. Fingerprints under
 * another key, or without one, no longer match; this does no harm.
 */
export function fingerprintKey(db: Connection): Uint8Array {
  const stored = fingerprintKeyOf(db)
  if (stored?.length === KEY_BYTES) return stored
  const key = randomBytes(KEY_BYTES)
  statement(db, 'REPLACE INTO fingerprint_key (id, key) VALUES (1, ?)').run(key)
  return key
}

/** The same where it may not be created. */
export function fingerprintKeyOf(db: Connection): Uint8Array | undefined {
  return statement<[], Uint8Array>(db, 'SELECT key FROM fingerprint_key').pluck().get()
}
