import type { Pruned } from '../../../report.ts'
import type { Mirror } from '../../../store.ts'
import { pruneInSteps, type Step } from '../../prune-in-steps.ts'
import {
  kindsToPrune,
  DAYS_TO_BELIEVE,
  believedMs,
  type Due,
  type Kind,
  timeBefore,
  areRunsDue,
  dayOf,
} from '../../rules/retention-rule.ts'
import { lookAtSchema, requireMirror } from '../opening/require-mirror.ts'
import type { Database, Session } from '../session.ts'
import { changesPruning } from './prune-changes.ts'
import { requireTaken } from '../../pages/rows-taken.ts'
import { GIVEN_ROWS } from '../given-rows.ts'
import { runsToKeep } from '../../sql/run-conditions.ts'

/**
 * Deletes runs that began before a moment and that no row refers to. The first and the last complete ones of an organization stay,
 * and its latest: they are what freshness, history and the removal of customers rest on.
 */
function runsPruning(organization: string, { beforeMs }: Due): Deletion {
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

/**
 * Deletes customers that were removed before a moment, with what their rejects and changes hold of them. The changes themselves
 * stay, without values, so that a reader of the feed misses no removal and daily counts stay right.
 */
function customersPruning(organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return async (session, most) => {
    // A removal that is dated before its customer was first seen was dated by a wrong clock. Locked, so that none returns meanwhile.
    const old = await session.all<{ row_id: number; id: string }>(
      `SELECT row_id, id FROM customers
       WHERE organization = $1 AND removed_at < $2::timestamptz AND removed_at >= first_seen_at
       ORDER BY row_id LIMIT $3 FOR UPDATE`,
      organization,
      before,
      most,
    )
    if (old.length === 0) return 0
    const ids = old.map(({ id }) => id)
    const rowIds = old.map(({ row_id }) => row_id)
    await session.run(
      `INSERT INTO horizons (organization, customers_from) VALUES ($1, $2::timestamptz) ON CONFLICT (organization)
       DO UPDATE SET customers_from = greatest(horizons.customers_from, excluded.customers_from)`,
      organization,
      before,
    )
    await session.run(
      `UPDATE changes SET fields = '{ }'
       WHERE organization = $1 AND id = ANY (ARRAY(SELECT unnest($2::text[]))) AND fields::text IS DISTINCT FROM '{ }'`,
      organization,
      ids,
    )
    await session.run('DELETE FROM rejects WHERE organization = $1 AND record_id = ANY ($2::text[])', organization, ids)
    const deleteFrom = (table: string) =>
      session.run(`DELETE FROM ${table} WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS}`, organization, rowIds)
    await deleteFrom('held_removals')
    requireTaken({ organization }, 'customers', { given: old.length, taken: await deleteFrom('customers') })
    return old.length
  }
}

/** Deletes rejects that were resolved before a moment. Open ones stay, whatever their age. */
function rejectsPruning(organization: string, { beforeMs }: Due): Deletion {
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

/** Deletes some rows in the transaction of the caller, and returns how many. */
export type Deletion = (session: Session, most: number) => Promise<number>

/**
 * Deletes what is old. What the deleted rows leave in the files of the server is freed by its autovacuum, as for every other row.
 */
export async function prune(
  database: Database,
  ...[organization, retention, reckoning]: Parameters<Mirror['prune']>
): Promise<Pruned> {
  const day = await database.read(async (session) => {
    requireMirror(await lookAtSchema(session, database.schema), database)
    return await believedDay(session, organization)
  })
  const inOneTransaction = (deletion: Deletion): Step => {
    return (most) =>
      database.write(async (session) => {
        await session.run(FIRST_FOUND)
        return deletion(session, most)
      })
  }
  const due = kindsToPrune(retention, believedMs(reckoning, day))
  return pruneInSteps(due.map((each) => [each.kind, inOneTransaction(PRUNING[each.kind](organization, each))]))
}

const PRUNING: Readonly<Record<Kind, (organization: string, due: Due) => Deletion>> = {
  removedCustomers: customersPruning,
  resolvedRejects: rejectsPruning,
  changes: changesPruning,
  runs: runsPruning,
}

/** A bitmap would be made of all rows that are old enough, at each step. For this transaction. */
const FIRST_FOUND = 'SET LOCAL enable_bitmapscan = off'

/** The first of the last days with a complete run; undefined without one. */
async function believedDay(session: Session, organization: string): Promise<string | undefined> {
  const days = await session.all<{ day: string }>(
    `SELECT to_char(started_at, 'YYYY-MM-DD') AS day FROM runs WHERE organization = $1 AND status = 'complete'
     GROUP BY 1 ORDER BY max(id) DESC LIMIT $2`,
    organization,
    DAYS_TO_BELIEVE,
  )
  return days.at(-1)?.day
}
