import { either, sql } from '../port/sql.ts'
import { notTaken } from '../pages/page-accounting.ts'
import { greatest } from '../port/fragments.ts'
import type { Session } from '../port/store.ts'
import { sqlTime } from '../port/sql-time.ts'

/** The stamps of transactions under way. */
const taken = new WeakMap<Session, Promise<string>>()

/**
 * The `updated_at` of every row that this transaction writes: now, and later than every stamp before. Its row is locked until the transaction
 * ends, so transactions commit in the order of their stamps, and of `changes.seq`: a reader that has seen the greatest stamp misses
 * nothing with `updated_at > ?`.
 */
export function updateStamp(session: Session, nowMs: number): Promise<string> {
  let stamp = taken.get(session)
  if (stamp === undefined) taken.set(session, (stamp = takeStamp(session, sqlTime(nowMs))))
  return stamp
}

const NEXT = either(
  `strftime('%Y-%m-%d %H:%M:%f', last_update.updated_at, '+0.001 seconds')`,
  `last_update.updated_at + interval '1 millisecond'`,
)

async function takeStamp(session: Session, now: string): Promise<string> {
  const last = await session.first<{ updated_at: string }>(sql`
    INSERT INTO last_update (id, updated_at) VALUES (1, ${now})
    ON CONFLICT (id) DO UPDATE SET updated_at = ${greatest(sql`excluded.updated_at`, sql`${NEXT}`)} RETURNING updated_at`)
  // A trigger kept it from being written.
  if (last === undefined) throw notTaken('the mirror', 'last_update', { given: 1, taken: 0 })
  return last.updated_at
}
