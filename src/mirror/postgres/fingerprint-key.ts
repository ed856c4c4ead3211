import { randomBytes } from 'node:crypto'
import { KEY_BYTES } from '../../list/fingerprint.ts'
import type { Session } from './session.ts'

/** Makes the key of the mirror's fingerprints if there is none, and returns the one that it would be. */
export async function makeFingerprintKey(session: Session): Promise<Uint8Array> {
  const key = randomBytes(KEY_BYTES)
  await session.run('INSERT INTO fingerprint_key (id, key) VALUES (1, $1) ON CONFLICT DO NOTHING', key)
  return key
}
