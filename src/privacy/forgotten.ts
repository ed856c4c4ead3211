import { createHmac, createSecretKey } from 'node:crypto'

export type Forgotten = NonNullable<ReturnType<typeof forgottenBy>>

/** A record of a forgotten customer: it is counted, and nothing of it is kept. */
export type Suppressed = {
  /** Index within the page, from 0. */
  position: number
  /** Stands for the customer wherever a row number would. */
  number: number
}

export const FORGOTTEN_KEY_BYTES = 32

/** Finds a forgotten customer's number by the id in lower case, `numbers` being by hashes under `key`; undefined for none: no record is hashed. */
export function forgottenBy(organization: string, key: Uint8Array | undefined, numbers: ReadonlyMap<string, number>) {
  if (numbers.size === 0) return undefined
  // Without its key no hash can be compared, and every forgotten customer would come back.
  if (key === undefined) throw new Error(`forgotten customers of ${organization} have no key`)
  const hashOf = idHash(key)
  return (id: string) => numbers.get(hashOf(id))
}

/** HMAC-SHA-256 of an id under a key, as base64url. */
export function idHash(key: Uint8Array): (id: string) => string {
  // Made once: a key of bytes takes several times as long for texts as short as these.
  const secret = createSecretKey(key)
  return (id) => createHmac('sha256', secret).update(id).digest('base64url')
}
