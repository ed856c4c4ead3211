import { timeBefore, type Due } from '../../rules/retention-rule.ts'
import type { Deletion } from './prune.ts'

/** Deletes rejects that were resolved before a moment. Open ones stay, whatever their age. */
export function rejectsPruning(organization: string, { beforeMs }: Due): Deletion {
  return (session, most) =>
    session.run(
      `DELETE FROM rejects WHERE reject_id = ANY (ARRAY(
         SELECT reject_id FROM rejects
         WHERE organization = $1 AND resolved_at < $2::timestamptz AND resolved_at >= first_seen_at LIMIT $3))`,
      organization,
      timeBefore(beforeMs),
      most,
    )
}
