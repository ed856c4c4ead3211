import type { Reckoning } from '../../../run.ts'
import type { Connection } from '../database.ts'
import { fromSqlTime } from '../../sql-time.ts'
import { statement } from '../statement.ts'

const DAY_MS = 86_400_000

/** So many different days must have had a complete run before a clock that no other one confirms is believed. */
const DAYS = 7
/** How far such a clock may be ahead of the first of them. */
const AHEAD_MS = 31 * DAY_MS

/**
 * The moment against which ages are measured. A clock that jumped ahead by years must not delete everything: where no other clock
 * confirms it, the moment is at most a month after the day of the organization's seventh last day with a complete run.
 */
export function soberMs(db: Connection, organization: string, { asOfMs, isConfirmed }: Reckoning): number {
  if (isConfirmed) return asOfMs
  const days = statement<[string, number], string>(
    db,
    `SELECT substr(started_at, 1, 10) AS day FROM runs WHERE organization = ? AND status = 'complete'
     GROUP BY day ORDER BY MAX(id) DESC LIMIT ?`,
  )
    .pluck()
    .all(organization, DAYS)
  const first = days.at(-1)
  // Without a complete run nothing says how late it is.
  if (first === undefined) return 0
  return Math.min(asOfMs, fromSqlTime(`${first} 00:00:00.000`) + AHEAD_MS)
}
