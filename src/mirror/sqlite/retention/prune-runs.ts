import type { Connection } from '../opening/database.ts'
import { areRunsDue, dayOf, timeBefore, type Due } from '../../rules/retention-rule.ts'
import type { Deletion } from './retention-verbs.ts'
import { statement } from '../statement.ts'
import { runsToKeep } from '../../sql/run-conditions.ts'

/**
 * Deletes runs that began before a moment and that no row refers to. The first and the last complete ones of an organization stay,
 * and its latest: they are what freshness, history and the removal of customers rest on.
 */
export function runsPruning(db: Connection, organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return (most) => {
    if (!isDue(db, organization, beforeMs)) return 0
    const { changes } = statement(db, DELETE_UNUSED).run({ organization, before, most })
    if (changes < most) {
      statement(db, 'REPLACE INTO pruned_runs (organization, before_day) VALUES (?, ?)').run(
        organization,
        dayOf(beforeMs),
      )
    }
    return changes
  }
}

function isDue(db: Connection, organization: string, beforeMs: number): boolean {
  const find = statement<[string], string>(db, 'SELECT before_day FROM pruned_runs WHERE organization = ?').pluck()
  if (!areRunsDue(find.get(organization), beforeMs)) return false
  const oldest = 'SELECT 1 FROM runs WHERE organization = ? AND started_at < ? LIMIT 1'
  return statement(db, oldest).get(organization, timeBefore(beforeMs)) !== undefined
}

const OF = 'FROM runs WHERE organization = @organization'

/** Each list of runs that are in use is made once. */
const DELETE_UNUSED = `
  DELETE FROM runs WHERE id IN (
    SELECT id ${OF} AND started_at < @before AND finished_at >= started_at AND status <> 'running'
      AND id NOT IN (SELECT last_run_id FROM customers WHERE organization = @organization)
      AND id NOT IN (SELECT run_id FROM changes WHERE organization = @organization)
      AND id NOT IN (SELECT run_id FROM rejects WHERE organization = @organization)
      AND id NOT IN (SELECT run_id FROM held_removals UNION ALL SELECT run_id FROM lists UNION ALL SELECT run_id FROM leases
        UNION ALL SELECT run_id FROM windows)
      AND id NOT IN (SELECT resumed_from ${OF} AND resumed_from IS NOT NULL)
      AND id NOT IN (SELECT id FROM (${runsToKeep(OF)}) WHERE id IS NOT NULL)
    LIMIT @most)`
