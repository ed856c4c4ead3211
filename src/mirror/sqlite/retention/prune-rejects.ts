import type { Connection } from '../opening/database.ts'
import { timeBefore, type Due } from '../../rules/retention-rule.ts'
import type { Deletion } from './retention-verbs.ts'
import { statement } from '../statement.ts'

/** Deletes rejects that were resolved before a moment. Open ones stay, whatever their age. */
export function rejectsPruning(db: Connection, organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return (most) =>
    statement(
      db,
      `DELETE FROM rejects WHERE reject_id IN (
         SELECT reject_id FROM rejects
         WHERE organization = ? AND resolved_at < ? AND resolved_at >= first_seen_at LIMIT ?)`,
    ).run(organization, before, most).changes
}
