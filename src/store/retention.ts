import { setImmediate as nextTurn } from 'node:timers/promises'
import { nothingPruned, type Pruned } from '../model/report.ts'
import type { Reckoning, Retention } from '../model/run.ts'
import { requireTaken } from './refusals.ts'
import { FOR_UPDATE, fromSqlTime, greatest, isFoundBy, isIn, moment, rowsOf, sql, sqlTime, text } from './port/sql.ts'
import type { Session, Store } from './port/store.ts'
import { requireCurrent } from './runs/lease.ts'
import { RUNS_TO_KEEP } from './schema/views.ts'

/** Deletes at most ROWS_AT_ONCE rows of a kind; how many it was. */
type Deletion = (session: Session) => Promise<number>

/** Rows in one transaction: some tens of milliseconds, in which other writers wait. */
const ROWS_AT_ONCE = 2000

/** Transactions after one run. A first pruning of millions of rows takes many nights, and no night takes much longer for it. */
const MOST_STEPS = 50

/** The verb that deletes rows older than they are to be kept, in bounded steps, each a transaction. A later run deletes what is left. */
export function pruning(store: Store) {
  let owesWal = false
  return async (organization: string, retention: Retention, reckoning: Reckoning): Promise<Pruned> => {
    const days = await store.read(async (session) => {
      await requireCurrent(session, store.place)
      return session.all<{ day: string }>(sql`
        SELECT substr(CAST(started_at AS text), 1, 10) AS day FROM runs WHERE organization = ${organization} AND status = 'complete'
        GROUP BY 1 ORDER BY max(id) DESC LIMIT ${DAYS_TO_BELIEVE}`)
    })
    const asOfMs = believedMs(reckoning, days.at(-1)?.day)
    const pruned = nothingPruned()
    let left = MOST_STEPS
    for (const [kind, pruningOf] of KINDS) {
      const ageMs = retention[`${kind}Ms`]
      if (ageMs === undefined) continue
      const deletion = pruningOf(organization, { beforeMs: asOfMs - ageMs, asOfMs })
      const step: Deletion = async (session) => {
        // A server would make a bitmap of all rows that are old enough, at each step.
        if (session.kind === 'postgres') await session.run(sql`SET LOCAL enable_bitmapscan = off`)
        return deletion(session)
      }
      let found = ROWS_AT_ONCE
      for (; found === ROWS_AT_ONCE && left > 0; left -= 1) {
        found = await store.write(step, { securely: true })
        pruned[kind] += found
        // Runs of other organizations and health checks in this process go on in between.
        await nextTurn()
      }
      pruned.isUnfinished ||= found === ROWS_AT_ONCE
    }
    const isPersonal = pruned.changes + pruned.resolvedRejects + pruned.removedCustomers > 0
    if (isPersonal || owesWal) owesWal = !(await store.settle())
    pruned.isUnfinished ||= owesWal
    return pruned
  }
}

/** Runs last: what was deleted before refers to them no more. */
const KINDS = [
  ['removedCustomers', customersPruning],
  ['resolvedRejects', rejectsPruning],
  ['changes', changesPruning],
  ['runs', runsPruning],
] as const

/** Deletes rejects that were resolved before a moment. Open ones stay, whatever their age. */
function rejectsPruning(organization: string, { beforeMs }: Due): Deletion {
  const old = sql`SELECT reject_id FROM rejects
    WHERE organization = ${organization} AND resolved_at < ${timeBefore(beforeMs)} AND resolved_at >= first_seen_at LIMIT ${ROWS_AT_ONCE}`
  return (session) => session.run(sql`DELETE FROM rejects WHERE ${isFoundBy('reject_id', old)}`)
}

/** Deletes customers that were removed before a moment, with their rejects. Their changes stay, without values, and so do daily counts. */
function customersPruning(organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  return async (session) => {
    // A removal that is dated before its customer was first seen was dated by a wrong clock. Locked, so that none returns meanwhile.
    const old = await session.all<{ row_id: number; id: string }>(sql`
      SELECT row_id, id FROM customers
      WHERE organization = ${organization} AND removed_at < ${before} AND removed_at >= first_seen_at
      ORDER BY row_id LIMIT ${ROWS_AT_ONCE} ${FOR_UPDATE}`)
    if (old.length === 0) return 0
    const rowIds = old.map(({ row_id }) => row_id)
    const ids = old.map(({ id }) => id)
    await session.run(sql`
      INSERT INTO horizons (organization, customers_from) VALUES (${organization}, ${before}) ON CONFLICT (organization)
      DO UPDATE SET customers_from = ${greatest(sql`horizons.customers_from`, sql`excluded.customers_from`)}`)
    await session.run(sql`
      UPDATE changes SET fields = '{ }'
      WHERE organization = ${organization} AND ${isIn('id', ids)} AND CAST(fields AS text) IS DISTINCT FROM '{ }'`)
    await session.run(sql`DELETE FROM rejects WHERE organization = ${organization} AND ${isIn('record_id', ids)}`)
    for (const table of ['held_rows', 'absences'])
      await session.run(sql`DELETE FROM ${text(table)} WHERE ${rowsOf(organization, rowIds)}`)
    const taken = await session.run(sql`DELETE FROM customers WHERE ${rowsOf(organization, rowIds)}`)
    requireTaken({ organization }, 'customers', { given: old.length, taken })
    return old.length
  }
}

/** Deletes changes from before a day, from the beginning of the feed on: none that comes after one that stays, whatever its date. */
function changesPruning(organization: string, { beforeMs, asOfMs }: Due): Deletion {
  const from = `${timeBefore(beforeMs).slice(0, 'YYYY-MM-DD'.length)} 00:00:00.000`
  // Later ones were dated by a wrong clock.
  const until = sqlTime(asOfMs + 2 * DAY_MS)
  let seq: number | null | undefined
  return async (session) => {
    const of = sql`FROM changes WHERE organization = ${organization}`
    if (seq === undefined) {
      // The last one before the first that stays, if any is old.
      const last = await session.first<{ seq: number | null }>(sql`
        WITH first (seq) AS (SELECT min(seq) ${of} AND changed_at >= ${moment(from)} AND changed_at < ${moment(until)})
        SELECT CASE WHEN first.seq IS NULL THEN (SELECT max(seq) ${of} AND changed_at < ${moment(from)})
          ELSE (SELECT max(changes.seq) ${of} AND changes.seq < first.seq) END AS seq
        FROM first WHERE EXISTS (SELECT 1 ${of} AND changed_at < ${moment(from)})`)
      seq = last?.seq ?? null
    }
    if (seq === null) return 0
    const deleted = await session.run(
      sql`DELETE FROM changes WHERE ${isFoundBy('seq', sql`SELECT seq ${of} AND seq <= ${seq} LIMIT ${ROWS_AT_ONCE}`)}`,
    )
    if (deleted === 0) return 0
    // From now on views take no notice of what is before, deleted or not yet.
    const further = (column: string) => sql`${greatest(text(`horizons.${column}`), text(`excluded.${column}`))}`
    await session.run(sql`
      INSERT INTO horizons (organization, pruned_seq, feed_seq, history_from) VALUES (${organization}, ${seq}, ${seq}, ${from})
      ON CONFLICT (organization) DO UPDATE SET pruned_seq = ${further('pruned_seq')}, feed_seq = ${further('feed_seq')},
        history_from = ${further('history_from')}`)
    return deleted
  }
}

/** Deletes runs that began before a moment, that no row refers to, and that freshness and history do not rest on. */
function runsPruning(organization: string, { beforeMs }: Due): Deletion {
  const before = timeBefore(beforeMs)
  const usedBy = (column: string, table: string) =>
    sql`SELECT ${text(column)} FROM ${text(table)} WHERE organization = ${organization}`
  return async (session) => {
    // Where none is old, the runs in use are not looked for.
    const oldest = sql`SELECT 1 FROM runs WHERE organization = ${organization} AND started_at < ${before} LIMIT 1`
    if ((await session.first(oldest)) === undefined) return 0
    return session.run(sql`
      WITH own AS MATERIALIZED (SELECT * FROM runs WHERE organization = ${organization}), used (id) AS MATERIALIZED (
        ${usedBy('last_run_id', 'customers')} UNION ${usedBy('run_id', 'changes')} UNION ${usedBy('run_id', 'rejects')}
        UNION SELECT run_id FROM held_rows UNION SELECT run_id FROM lists UNION SELECT run_id FROM leases
        UNION SELECT run_id FROM windows UNION SELECT resumed_from FROM own WHERE resumed_from IS NOT NULL
        UNION SELECT id FROM (${text(RUNS_TO_KEEP)}) AS kept WHERE id IS NOT NULL
      )
      DELETE FROM runs WHERE id IN (
        SELECT id FROM own WHERE started_at < ${moment(before)} AND finished_at >= started_at AND status <> 'running'
          AND id NOT IN (SELECT id FROM used) LIMIT ${ROWS_AT_ONCE})`)
  }
}

const DAY_MS = 86_400_000

/** Rows from before a moment are deleted; `asOfMs` is now. Unix milliseconds. */
type Due = { beforeMs: number; asOfMs: number }

const DAYS_TO_BELIEVE = 7
const AHEAD_MS = 31 * DAY_MS

/**
 * The moment against which ages are measured. A clock that jumped ahead by years must not delete everything: where no other clock
 * confirms it, the moment is at most a month after the day of the organization's seventh last day with a complete run. `day` is that
 * day, or the first one if there are fewer; undefined without a complete run.
 */
function believedMs({ asOfMs, isConfirmed }: Reckoning, day: string | undefined): number {
  if (isConfirmed) return asOfMs
  // Without a complete run nothing says how late it is.
  if (day === undefined) return 0
  return Math.min(asOfMs, fromSqlTime(`${day} 00:00:00.000`) + AHEAD_MS)
}

/** A moment of the configuration as it stands in the mirror, which has no time before 1970. */
function timeBefore(beforeMs: number): string {
  return sqlTime(Math.max(0, beforeMs))
}
