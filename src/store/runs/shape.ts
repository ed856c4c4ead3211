import { UsageError } from '../../errors/errors.ts'
import type { TextField } from '../../model/customer.ts'
import type { Ending, Run, ShapeChange } from '../../model/run.ts'
import { requireTaken } from '../refusals.ts'
import { either, given, joined, moment, rowsOf, sql, sqlTime, text } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { updateStamp } from './lease.ts'
import { IS_FULL } from '../schema/views.ts'

/*
 * The shape of the data is guarded like its rows: a service that renames a field, or sends it in another form, empties it everywhere, or has
 * every record rejected. Then what is stored is kept, until a person accepts the new shape or the service is repaired.
 */

/** So few customers may lose a field, or be rejected, whatever share they are. */
const FEW = 20
const USUAL_SHARE = 0.1

/**
 * Judges what a complete run received: fields that came empty are emptied now, unless too many customers lost them. `written`:
 * how many customers it counted as unchanged that have lost a field since. `newFields`: fields that the specification does not know, and that
 * more than half of the customers have from this run on.
 */
export async function concludeShape(session: Session, run: Run, { status, removals }: Ending, nowMs: number) {
  if (status !== 'complete') return { changes: [], written: 0, newFields: [] }
  const share = removals?.rule.maxShare ?? USUAL_SHARE
  const known = run.seen.size + run.rejectedIds.size - run.records.inserted
  const areMany = (customers: number) => customers > FEW && customers > share * known
  const changes = [...(await emptiedFields(session, run, areMany)), ...(await rejectedFields(session, run, areMany))]
  const newFields = [...run.gained].filter(([, customers]) => customers > known / 2).map(([field]) => field)
  if (changes.length > 0) return { changes, written: 0, newFields }
  const rowIds = [...new Set([...run.emptied.values()].flatMap((rows) => [...rows]))]
  for (let from = 0; from < rowIds.length; from += AT_ONCE)
    await empty(session, run, rowIds.slice(from, from + AT_ONCE), nowMs)
  return { changes, written: run.unwritten.size, newFields }
}

export type Shape = Awaited<ReturnType<typeof concludeShape>>

type Judging = (customers: number) => boolean

/** Fields that most customers had, and that too many of them have no more. */
async function emptiedFields(session: Session, { organization, id, emptied }: Run, isTooMany: Judging) {
  const changes: ShapeChange[] = []
  const many = [...emptied].filter(([, rows]) => isTooMany(rows.size))
  if (many.length === 0 || (await lastFullRun(session, organization, id))?.shape_accepted_at != null) return changes
  for (const [field, { size }] of many) {
    const isUsual = await session.first(sql`
      SELECT count(*) FROM customers WHERE organization = ${organization} AND removed_at IS NULL
      HAVING count(${text(field)}) * 2 > count(*)`)
    if (isUsual !== undefined) changes.push({ field, customers: size, isRejected: false })
  }
  return changes
}

/** Fields for which too many records are rejected of customers that the mirror holds, since a person last accepted a shape. */
async function rejectedFields(session: Session, { organization, readAsOfMs, rejectedIds }: Run, isTooMany: Judging) {
  if (!isTooMany(rejectedIds.size)) return []
  const rejected = await session.all<{ reasons: string; customers: number }>(sql`
    SELECT CAST(reasons AS text) AS reasons, count(*) AS customers
    FROM rejects JOIN customers ON customers.organization = rejects.organization AND customers.id = rejects.record_id
    WHERE rejects.organization = ${organization} AND resolved_at IS NULL AND removed_at IS NULL
      AND seen_at >= ${sqlTime(readAsOfMs)} AND NOT EXISTS (SELECT 1 FROM runs
        WHERE runs.organization = rejects.organization AND shape_accepted_at >= rejects.first_seen_at)
    GROUP BY CAST(reasons AS text)`)
  if (!isTooMany(rejected.reduce((sum, { customers }) => sum + customers, 0))) return []
  const byField = new Map<string, number>()
  for (const { reasons, customers } of rejected) {
    const named: { field: string }[] = JSON.parse(reasons)
    for (const field of new Set(named.map((reason) => reason.field)))
      byField.set(field, (byField.get(field) ?? 0) + customers)
  }
  return [...byField].map(([field, customers]) => ({ field, customers, isRejected: true }))
}

const AT_ONCE = 1000

type Stored = { row_id: number; id: string } & Partial<Record<TextField, string | null>>

/** Customers who have lost fields: each is written once, and the change is recorded beside what else this run changed of them. */
async function empty(session: Session, run: Run, rowIds: readonly number[], nowMs: number): Promise<void> {
  const { organization, emptied } = run
  const now = sqlTime(nowMs)
  const fields = [...emptied.keys()]
  const stored = await session.all<Stored>(sql`
    SELECT row_id, id, ${text(fields.join(', '))} FROM customers WHERE ${rowsOf(organization, rowIds)} ORDER BY row_id`)
  const lost = stored.flatMap((row) => {
    const own = fields.filter((field) => emptied.get(field)?.has(row.row_id) === true && row[field] !== null)
    return own.length === 0 ? [] : [{ ...row, own }]
  })
  if (lost.length === 0) return
  const flags = lost.map(({ row_id, own }) => ({ row_id, ...Object.fromEntries(own.map((field) => [field, 1])) }))
  const columns = { row_id: 'bigint', ...Object.fromEntries(fields.map((field) => [field, 'bigint'])) }
  const kept = (column: string, field: string) =>
    text(`${column} = CASE WHEN given.${field} IS NULL THEN customers.${column} END`)
  const set = fields.flatMap((field) =>
    field === 'created_at' ? [kept(field, field), kept('created_at_utc', field)] : [kept(field, field)],
  )
  const taken = await session.run(sql`
    UPDATE customers SET ${joined(set)}, changed_at = ${now}, last_run_id = ${run.id}, updated_at = ${await updateStamp(session, nowMs)}
    FROM ${given(flags, columns)} WHERE ${either('+', '')}customers.organization = ${organization} AND customers.row_id = given.row_id`)
  requireTaken(run, 'customers', { given: lost.length, taken })
  if (run.isBaseline) return
  const changed = lost.map(({ id, own, ...values }) => {
    return { id, fields: Object.fromEntries(own.map((field) => [field, [values[field], null]])) }
  })
  const fed = await session.run(sql`
    INSERT INTO changes (run_id, organization, id, change, fields, changed_at)
    SELECT ${run.id}, ${organization}, id, 'changed', fields, ${moment(now)}
    FROM ${given(changed, { id: 'text', fields: 'json' })} WHERE true`)
  requireTaken(run, 'changes', { given: lost.length, taken: fed })
}

/** The last complete run before this one, partial ones apart. */
async function lastFullRun(session: Session, organization: string, before = Number.MAX_SAFE_INTEGER) {
  return session.first<{ id: number; reasons: string; shape: string | null; shape_accepted_at: string | null }>(sql`
    SELECT id, CAST(reasons AS text) AS reasons, CAST(certificate AS text) AS shape, shape_accepted_at FROM runs
    WHERE organization = ${organization} AND status = 'complete' AND ${text(IS_FULL)} AND id < ${before} ORDER BY id DESC LIMIT 1`)
}

/** Accepts the shape that the last full run found changed: the next one stores what it receives. Throws UsageError where it has not. */
export async function acceptShape(session: Session, organization: string, nowMs: number): Promise<ShapeChange[]> {
  const last = await lastFullRun(session, organization)
  if (last === undefined || last.shape_accepted_at !== null || !last.reasons.includes('"shape-changed"')) {
    throw new UsageError(
      `${organization}: there is nothing to accept: its last full run has not found that the shape of the data changed.`,
    )
  }
  await session.run(sql`UPDATE runs SET shape_accepted_at = ${sqlTime(nowMs)} WHERE id = ${last.id}`)
  const { shape = [] }: { shape?: ShapeChange[] } = JSON.parse(last.shape ?? '{}')
  return shape
}
