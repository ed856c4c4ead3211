import { areRunsDue, dayOf, timeBefore, type Due } from '../../rules/retention-rule.ts'
import { runsToKeep } from '../../sql/run-conditions.ts'
import type { Session } from '../session.ts'
import type { Deletion } from './prune.ts'

/**
 * Deletes runs that began before a moment and that no row refers to. The first and the last complete ones of an organization stay,
 * and its latest: they are what freshness, history and the removal of customers rest on.
 */
export function runsPruning(organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return async (session, most) => {
    if (!(await isDue(session, organization, beforeMs))) return 0
    const deleted = await session.run(DELETE_UNUSED, organization, before, most)
    if (deleted < most) {
      await session.run(
        `INSERT INTO pruned_runs (organization, before_day) VALUES ($1, $2)
         ON CONFLICT (organization) DO UPDATE SET before_day = excluded.before_day`,
        organization,
        dayOf(beforeMs),
      )
    }
    return deleted
  }
}

async function isDue(session: Session, organization: string, beforeMs: number): Promise<boolean> {
  const find = 'SELECT before_day FROM pruned_runs WHERE organization = $1'
  const done = await session.first<{ before_day: string }>(find, organization)
  if (!areRunsDue(done?.before_day, beforeMs)) return false
  const oldest = 'SELECT id FROM runs WHERE organization = $1 AND started_at < $2::timestamptz LIMIT 1'
  return (await session.first(oldest, organization, timeBefore(beforeMs))) !== undefined
}

const OF = 'FROM runs WHERE organization = $1'

/** Each list of runs that are in use is made once. */
const DELETE_UNUSED = `
  WITH used (id) AS MATERIALIZED (
    SELECT last_run_id FROM customers WHERE organization = $1
    UNION SELECT run_id FROM changes WHERE organization = $1
    UNION SELECT run_id FROM rejects WHERE organization = $1
    UNION SELECT run_id FROM held_removals
    UNION SELECT run_id FROM lists
    UNION SELECT run_id FROM leases
    UNION SELECT run_id FROM windows
    UNION SELECT resumed_from ${OF} AND resumed_from IS NOT NULL
    UNION ${runsToKeep(OF)}
  )
  DELETE FROM runs WHERE id IN (
    SELECT id ${OF} AND started_at < $2::timestamptz AND finished_at >= started_at AND status <> 'running'
      AND NOT EXISTS (SELECT FROM used WHERE used.id = runs.id)
    LIMIT $3)`
