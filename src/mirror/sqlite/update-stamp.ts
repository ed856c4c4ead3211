import type { Connection } from './opening/database.ts'
import { fromSqlTime, sqlTime } from '../sql/sql-time.ts'
import { statement } from './statement.ts'

/** The stamps of transactions under way. */
const taken = new WeakMap<Connection, string>()

/**
 * The `updated_at` of every row that this transaction writes: now, and later than every stamp in the file. Transactions write one
 * after the other, so a stamp that is committed later is greater, whichever organization it belongs to and wherever the clock
 * stands. A reader that has seen the greatest stamp misses nothing with `updated_at > ?`.
 */
export function updateStamp(db: Connection, nowMs: number): string {
  let stamp = taken.get(db)
  if (stamp === undefined) taken.set(db, (stamp = takeStamp(db, nowMs)))
  return stamp
}

function takeStamp(db: Connection, nowMs: number): string {
  const last = statement<[], string>(db, 'SELECT updated_at FROM last_update').pluck().get()
  const stamp = sqlTime(Math.max(nowMs, last === undefined ? 0 : fromSqlTime(last) + 1))
  statement(db, 'REPLACE INTO last_update (id, updated_at) VALUES (1, ?)').run(stamp)
  return stamp
}

/** To be called when a transaction begins: the next stamp is its own. */
export function forgetStamp(db: Connection): void {
  taken.delete(db)
}
