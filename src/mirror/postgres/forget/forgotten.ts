import { randomBytes } from 'node:crypto'
import { FORGOTTEN_KEY_BYTES, idHash } from '../../../privacy/forgotten.ts'
import { sqlTime, timeIn } from '../../sql/sql-time.ts'
import type { Forgetting } from '../../../store.ts'
import type { Session } from '../session.ts'

/** Since when a customer is forgotten, in Unix milliseconds; undefined if it is not. */
export async function forgottenSinceMs(
  session: Session,
  { organization, id }: Pick<Forgetting, 'organization' | 'id'>,
): Promise<number | undefined> {
  const key = await storedKey(session, organization)
  if (key === undefined) return undefined
  const found = await session.first<{ forgotten_at: string }>(
    'SELECT forgotten_at FROM forgotten WHERE organization = $1 AND hash = $2',
    organization,
    idHash(key)(id),
  )
  return timeIn(found?.forgotten_at)
}

/** Keeps the hash of an id, so that the customer stays forgotten. */
export async function rememberForgotten(
  session: Session,
  organization: string,
  id: string,
  nowMs: number,
): Promise<void> {
  await session.run(
    'INSERT INTO forgotten_keys (organization, key) VALUES ($1, $2) ON CONFLICT (organization) DO NOTHING',
    organization,
    randomBytes(FORGOTTEN_KEY_BYTES),
  )
  const key = await storedKey(session, organization)
  if (key === undefined) throw new Error(`forgotten customers of ${organization} have no key`)
  await session.run(
    `INSERT INTO forgotten (organization, hash, forgotten_at) VALUES ($1, $2, $3::timestamptz)
     ON CONFLICT (organization, hash) DO NOTHING`,
    organization,
    idHash(key)(id),
    sqlTime(nowMs),
  )
}

/** Deletes the hash of an id; whether there was one. */
export async function deleteForgotten(session: Session, organization: string, id: string): Promise<boolean> {
  const key = await storedKey(session, organization)
  if (key === undefined) return false
  const sql = 'DELETE FROM forgotten WHERE organization = $1 AND hash = $2'
  return (await session.run(sql, organization, idHash(key)(id))) > 0
}

async function storedKey(session: Session, organization: string): Promise<Uint8Array | undefined> {
  const find = 'SELECT key FROM forgotten_keys WHERE organization = $1'
  return (await session.first<{ key: Uint8Array }>(find, organization))?.key
}
