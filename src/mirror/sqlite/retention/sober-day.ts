import { SOBER_DAYS } from '../../retention-rule.ts'
import type { Connection } from '../database.ts'
import { statement } from '../statement.ts'

/** The first of the last days with a complete run; undefined without one. */
export function soberDay(db: Connection, organization: string): string | undefined {
  const days = statement<[string, number], string>(
    db,
    `SELECT substr(started_at, 1, 10) AS day FROM runs WHERE organization = ? AND status = 'complete'
     GROUP BY day ORDER BY MAX(id) DESC LIMIT ?`,
  )
    .pluck()
    .all(organization, SOBER_DAYS)
  return days.at(-1)
}
