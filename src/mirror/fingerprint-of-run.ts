import { createHash } from 'node:crypto'
import { fingerprintWith, KEY_BYTES, type Fingerprint } from '../list/fingerprint.ts'
import type { RunPrivacy } from '../run.ts'

/**
 * The fingerprint of records under the key of the mirror. With a configured key, a reader of the mirror cannot try out which hidden
 * values give a stored fingerprint.
 */
export function fingerprintOfRun(key: Uint8Array, privacy: RunPrivacy | undefined): Fingerprint {
  return fingerprintWith(privacy?.policy.keyed('fingerprint', key)?.subarray(0, KEY_BYTES) ?? key)
}

/** What tells the mirror with this key from every other; the key itself stays in it. */
export function identityOf(key: Uint8Array | undefined): string {
  return createHash('sha256')
    .update('identity of the mirror')
    .update(key ?? '')
    .digest('hex')
    .slice(0, 32)
}
