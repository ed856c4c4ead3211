import type { Mirror } from '../../../store.ts'
import type { Connection, RowWriting } from '../opening/database.ts'
import { pruneInSteps, type Step } from '../../prune-in-steps.ts'
import { nothingPruned } from '../../../report.ts'
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
import { changesPruning } from './prune-changes.ts'
import { withoutForeignKeys } from '../opening/foreign-keys.ts'
import { deletingSecurely, emptyWal } from '../purge.ts'
import { statement } from '../statement.ts'
import { runsToKeep } from '../../sql/run-conditions.ts'

/**
 * Deletes runs that began before a moment and that no row refers to. The first and the last complete ones of an organization stay,
 * and its latest: they are what freshness, history and the removal of customers rest on.
 */
function runsPruning(db: Connection, organization: string, { beforeMs }: Due): Deletion {
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

/**
 * Deletes customers that were removed before a moment, with what their rejects and changes hold of them. The changes themselves
 * stay, without values, so that a reader of the feed misses no removal and daily counts stay right.
 */
function customersPruning(db: Connection, organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return (most) => {
    // A removal that is dated before its customer was first seen was dated by a wrong clock.
    const old = statement<[string, string, number], { row_id: number; id: string }>(
      db,
      `SELECT row_id, id FROM customers WHERE organization = ? AND removed_at < ? AND removed_at >= first_seen_at LIMIT ?`,
    ).all(organization, before, most)
    if (old.length === 0) return 0
    statement(
      db,
      `INSERT INTO horizons (organization, customers_from) VALUES (@organization, @before)
       ON CONFLICT DO UPDATE SET customers_from = max(coalesce(customers_from, ''), excluded.customers_from)`,
    ).run({ organization, before })
    const ids = JSON.stringify(old.map(({ id }) => id))
    const rowIds = JSON.stringify(old.map(({ row_id }) => row_id))
    statement(
      db,
      `UPDATE changes SET fields = '{ }'
       WHERE organization = ? AND id IN (SELECT value FROM json_each(?)) AND fields IS NOT '{ }'`,
    ).run(organization, ids)
    statement(db, 'DELETE FROM rejects WHERE organization = ? AND record_id IN (SELECT value FROM json_each(?))').run(
      organization,
      ids,
    )
    statement(db, 'DELETE FROM customers WHERE row_id IN (SELECT value FROM json_each(?))').run(rowIds)
    return old.length
  }
}

/** Deletes rejects that were resolved before a moment. Open ones stay, whatever their age. */
function rejectsPruning(db: Connection, organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return (most) =>
    statement(
      db,
      `DELETE FROM rejects WHERE reject_id IN (
         SELECT reject_id FROM rejects
         WHERE organization = ? AND resolved_at < ? AND resolved_at >= first_seen_at LIMIT ?)`,
    ).run(organization, before, most).changes
}

/** Deletes some rows in the transaction of the caller, and returns how many. */
export type Deletion = (most: number) => number

/** The verb of a mirror that deletes what is old. */
export function pruning(db: Connection, { isKept, writeInPlace }: RowWriting): Mirror['prune'] {
  let owesWal = false
  const inOneTransaction = (kind: Kind, deletion: Deletion): Step => {
    // SQLite would look for each deleted run in every customer and change. The statement that deletes runs has done that once for all of
    // them, in the same transaction.
    const enforce = kind === 'runs' ? withoutForeignKeys : (_: Connection, work: () => number) => work()
    return (most) => enforce(db, () => deletingSecurely(db, () => writeInPlace(() => deletion(most))))
  }
  return async (organization, retention, reckoning) => {
    if (!isKept) return nothingPruned()
    const due = kindsToPrune(retention, believedMs(reckoning, believedDay(db, organization)))
    const pruned = await pruneInSteps(
      due.map((each) => [each.kind, inOneTransaction(each.kind, PRUNING[each.kind](db, organization, each))]),
    )
    const isPersonal = pruned.changes + pruned.resolvedRejects + pruned.removedCustomers > 0
    // A reader who was waited for in vain is not waited for after every run of a night.
    if (isPersonal || owesWal) owesWal = !emptyWal(db, owesWal ? { patienceMs: 0 } : {})
    pruned.isUnfinished ||= owesWal
    return pruned
  }
}

const PRUNING: Readonly<Record<Kind, (db: Connection, organization: string, due: Due) => Deletion>> = {
  removedCustomers: customersPruning,
  resolvedRejects: rejectsPruning,
  changes: changesPruning,
  runs: runsPruning,
}

/** The first of the last days with a complete run; undefined without one. */
function believedDay(db: Connection, organization: string): string | undefined {
  const days = statement<[string, number], string>(
    db,
    `SELECT substr(started_at, 1, 10) AS day FROM runs WHERE organization = ? AND status = 'complete'
     GROUP BY day ORDER BY MAX(id) DESC LIMIT ?`,
  )
    .pluck()
    .all(organization, DAYS_TO_BELIEVE)
  return days.at(-1)
}
