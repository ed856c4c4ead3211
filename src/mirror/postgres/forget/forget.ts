import type { Forgetting, ForgottenCustomer, Mirror } from '../../../store.ts'
import { notForgotten, unknownCustomer } from '../../mirror-errors.ts'
import { requireUnleased } from '../organizations/unleased.ts'
import type { Database, Session } from '../session.ts'
import { forgetWindows } from '../run/windows.ts'
import { purgeCustomer, rowsLeft } from './purge-customer.ts'
import { randomBytes } from 'node:crypto'
import { FORGOTTEN_KEY_BYTES, idHash } from '../../../privacy/forgotten.ts'
import { sqlTime, timeIn } from '../../sql/sql-time.ts'

/** The verbs of a mirror about forgotten customers, each in one transaction. */
export function forgetting(database: Database): Pick<Mirror, 'forgetCustomer' | 'readmitCustomer'> {
  return {
    forgetCustomer: (asked) =>
      database.write(
        (session) => forgetCustomer(session, asked),
        asked,
        (session) => isForgotten(session, asked),
      ),
    readmitCustomer: (asked) =>
      database.write(
        (session) => readmitCustomer(session, asked),
        asked,
        async (session) => (await forgottenSinceMs(session, asked)) === undefined,
      ),
  }
}

/** A run whose lease has expired may only be paused: without the lease it can write nothing. */
async function forgetCustomer(session: Session, asked: Forgetting): Promise<ForgottenCustomer> {
  const { organization, id, nowMs } = asked
  await requireUnleased(session, organization, 'changed')
  const sinceMs = await forgottenSinceMs(session, asked)
  const purged = await purgeCustomer(session, asked)
  const isKnown = Object.values(purged.deleted).some((count) => count > 0)
  if (sinceMs === undefined && !isKnown) throw unknownCustomer(organization)
  await rememberForgotten(session, organization, id, nowMs)
  return { ...purged, forgottenAtMs: sinceMs ?? nowMs, wasForgotten: sinceMs !== undefined }
}

/** Whether the mirror holds the hash of a customer, and nothing else of it. */
async function isForgotten(session: Session, asked: Forgetting): Promise<boolean> {
  if ((await forgottenSinceMs(session, asked)) === undefined) return false
  return (await rowsLeft(session, asked)).every(([, left]) => left === 0)
}

async function readmitCustomer(session: Session, { organization, id }: Forgetting): Promise<void> {
  await requireUnleased(session, organization, 'changed')
  if (!(await deleteForgotten(session, organization, id))) throw notForgotten(organization)
  // A window of an interrupted run that holds its number is not read again.
  await forgetWindows(session, organization)
}

/** Since when a customer is forgotten, in Unix milliseconds; undefined if it is not. */
async function forgottenSinceMs(
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
async function rememberForgotten(session: Session, organization: string, id: string, nowMs: number): Promise<void> {
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
async function deleteForgotten(session: Session, organization: string, id: string): Promise<boolean> {
  const key = await storedKey(session, organization)
  if (key === undefined) return false
  const sql = 'DELETE FROM forgotten WHERE organization = $1 AND hash = $2'
  return (await session.run(sql, organization, idHash(key)(id))) > 0
}

async function storedKey(session: Session, organization: string): Promise<Uint8Array | undefined> {
  const find = 'SELECT key FROM forgotten_keys WHERE organization = $1'
  return (await session.first<{ key: Uint8Array }>(find, organization))?.key
}
