import { sqlTime } from '../sql/sql-time.ts'
import type { Session } from './session.ts'
import type { Part } from './together.ts'

/**
 * The `updated_at` of every row that a transaction writes: now, and later than every stamp before. It is locked until the transaction
 * ends, so transactions that write what readers see are committed in the order of their stamps, and of `changes.seq`: a reader
 * that has seen the greatest stamp misses nothing with `updated_at > ?`. To be taken before a row of the feed is numbered.
 */
export function stampAt(nowMs: number): Part {
  return {
    sql: `INSERT INTO last_update (id, updated_at) VALUES (1, $1::timestamptz)
      ON CONFLICT (id) DO UPDATE SET
        updated_at = greatest(excluded.updated_at, last_update.updated_at + interval '1 millisecond')
      RETURNING updated_at`,
    parameters: [sqlTime(nowMs)],
  }
}

/** The stamps of transactions under way. */
const taken = new WeakMap<Session, Promise<string>>()

/** The stamp of a transaction of several statements, taken when the first of them needs it. */
export function updateStamp(session: Session, nowMs: number): Promise<string> {
  let stamp = taken.get(session)
  if (stamp === undefined) taken.set(session, (stamp = takeStamp(session, nowMs)))
  return stamp
}

async function takeStamp(session: Session, nowMs: number): Promise<string> {
  const { sql, parameters } = stampAt(nowMs)
  const last = await session.first<{ updated_at: string }>(sql, ...parameters)
  return last?.updated_at ?? sqlTime(nowMs)
}
