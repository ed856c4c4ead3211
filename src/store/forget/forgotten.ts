import { randomBytes } from 'node:crypto'
import { type Forgotten, FORGOTTEN_KEY_BYTES, forgottenBy, idHash } from '../../privacy/forgotten.ts'
import type { Forgetting } from '../../store.ts'
import { sql } from '../port/sql.ts'
import { type Session, together } from '../port/store.ts'
import { sqlTime, timeIn } from '../port/sql-time.ts'

type Of = Pick<Forgetting, 'organization' | 'id'>

/** The forgotten customers of an organization; undefined if there are none. */
export async function loadForgotten(session: Session, organization: string): Promise<Forgotten | undefined> {
  const [rows, key] = await together(
    session.all<{ number: number; hash: string }>(
      sql`SELECT number, hash FROM forgotten WHERE organization = ${organization}`,
    ),
    storedKey(session, organization),
  )
  return forgottenBy(organization, key, new Map(rows.map(({ number, hash }) => [hash, number])))
}

/** Since when a customer is forgotten, in Unix milliseconds; undefined if it is not. */
export async function forgottenSinceMs(session: Session, { organization, id }: Of): Promise<number | undefined> {
  const key = await storedKey(session, organization)
  if (key === undefined) return undefined
  const found = await session.first<{ forgotten_at: string }>(sql`
    SELECT forgotten_at FROM forgotten WHERE organization = ${organization} AND hash = ${idHash(key)(id)}`)
  return timeIn(found?.forgotten_at)
}

/** Keeps the hash of an id, so that the customer stays forgotten. */
export async function rememberForgotten(session: Session, { organization, id }: Of, nowMs: number): Promise<void> {
  await session.run(sql`
    INSERT INTO forgotten_keys (organization, key) VALUES (${organization}, ${randomBytes(FORGOTTEN_KEY_BYTES)})
    ON CONFLICT (organization) DO NOTHING`)
  const key = await storedKey(session, organization)
  if (key === undefined) throw new Error(`forgotten customers of ${organization} have no key`)
  await session.run(sql`
    INSERT INTO forgotten (organization, hash, forgotten_at) VALUES (${organization}, ${idHash(key)(id)}, ${sqlTime(nowMs)})
    ON CONFLICT (organization, hash) DO NOTHING`)
}

/** Deletes the hash of an id; whether there was one. */
export async function deleteForgotten(session: Session, { organization, id }: Of): Promise<boolean> {
  const key = await storedKey(session, organization)
  if (key === undefined) return false
  return (
    (await session.run(sql`DELETE FROM forgotten WHERE organization = ${organization} AND hash = ${idHash(key)(id)}`)) >
    0
  )
}

async function storedKey(session: Session, organization: string): Promise<Uint8Array | undefined> {
  return (
    await session.first<{ key: Uint8Array }>(sql`SELECT key FROM forgotten_keys WHERE organization = ${organization}`)
  )?.key
}
