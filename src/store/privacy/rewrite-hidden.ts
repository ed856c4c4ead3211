import type { HidableColumns, HiddenValues } from '../../privacy/hidden-values.ts'
import type { Run } from '../../run.ts'
import { rejectKey } from '../../sorted-page.ts'
import { isIn, rowsGiven } from '../port/fragments.ts'
import { either, joined, sql, type Sql, text } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { updateStamp } from '../runs/update-stamp.ts'
import { TEXT_FIELDS } from '../../customer.ts'

type Step = { hidden: HiddenValues; after: number; nowMs: number }
type Rewriting = { hidden: HiddenValues; place: Place; nowMs: number }

/** Rewrites the next rows; the place after them, undefined when none is left. */
export async function rewriteSome(
  session: Session,
  run: Run,
  { hidden, place, nowMs }: Rewriting,
): Promise<Place | undefined> {
  const rewritten = REWRITE[place.table]
  if (rewritten === undefined) return undefined
  return placeAfter(place, await rewritten(session, run, { hidden, after: place.row, nowMs }))
}

/** Each function returns the numbers of the rows that it looked at. */
const REWRITE: Partial<Record<string, (session: Session, run: Run, step: Step) => Promise<readonly number[]>>> = {
  customers: rewriteCustomers,
  changes: rewriteChanges,
  rejects: rewriteRejects,
  runs: rewriteErrors,
}

/** The next rows of an organization, in the order of their numbers. Few are found by the organization and sorted. */
async function nextRows<Row>(
  session: Session,
  run: Run,
  after: number,
  wanted: { table: string; number: string; columns: Sql; more?: Sql },
) {
  const { table, number, columns, more = sql`` } = wanted
  // In the order of an index, which PostgreSQL would rather sort at each step, with all rows that are left. In that order stand the changes of
  // all organizations: so few of one are sorted.
  if (session.kind === 'postgres') {
    const some = sql`SELECT 1 FROM ${text(table)} WHERE organization = ${run.organization} LIMIT 1 OFFSET ${FEW}`
    const isSorted = table === 'changes' && (await session.first(some)) === undefined
    await session.run(sql`SET LOCAL enable_sort = ${text(isSorted ? 'on' : 'off')}`)
  }
  return await session.all<Row & Record<string, number>>(sql`
    SELECT ${text(number)}, ${columns} FROM ${text(table)}
    WHERE organization = ${run.organization} AND ${text(number)} > ${after} ${more} ORDER BY ${text(number)} LIMIT ${REWRITTEN_AT_ONCE}`)
}

/** Few changes of an organization. */
const FEW = 10_000

type CustomerRow = HidableColumns & { row_id: number }

/** `last_run_id` moves as well: the row was written, and not by hand. Only what may differ is set: SQLite writes the index of every column. */
async function rewriteCustomers(
  session: Session,
  run: Run,
  { hidden, after, nowMs }: Step,
): Promise<readonly number[]> {
  const wanted = { table: 'customers', number: 'row_id', columns: text(HIDABLE_COLUMNS.join(', ')) }
  const rows = await nextRows<CustomerRow>(session, run, after, wanted)
  const stamp = await updateStamp(session, nowMs)
  const fields = [...hidden.columns, 'extra' as const]
  const rewritten = rows.flatMap((row) => {
    const next = hiddenCustomer<CustomerRow>(row, hidden)
    return next === row ? [] : [{ ...Object.fromEntries(fields.map((name) => [name, next[name]])), row_id: row.row_id }]
  })
  const set = fields.map((field) => text(`${field} = given.${field}`))
  const columns = { row_id: 'bigint', ...Object.fromEntries(fields.map((name) => [name, typeOf(name)])) } as const
  if (rewritten.length > 0)
    await session.run(sql`
      WITH ${rowsGiven('given', rewritten, columns)}
      UPDATE customers SET ${joined(set)}, updated_at = ${stamp}, last_run_id = ${run.id}
      FROM given WHERE customers.organization = ${run.organization} AND customers.row_id = given.row_id`)
  return rows.map(({ row_id }) => row_id)
}

function typeOf(field: string): 'json' | 'text' {
  return field === 'extra' ? 'json' : 'text'
}

async function rewriteChanges(session: Session, run: Run, { hidden, after }: Step): Promise<readonly number[]> {
  // '{ }' says that the customer of then was deleted: history must not show that life with the values of a later one.
  const more = sql`AND ${either(`fields <> '{ }'`, `fields::text <> '{ }'`)}`
  const wanted = { table: 'changes', number: 'seq', columns: sql`fields`, more }
  const rows = await nextRows<{ seq: number; fields: string }>(session, run, after, wanted)
  const rewritten = rows.flatMap(({ seq, fields }) => {
    const next = hidden.changedFields(fields)
    return next === fields ? [] : [{ seq, fields: next }]
  })
  await rewrite(session, { table: 'changes', number: 'seq', rows: rewritten, columns: { fields: 'json' } })
  return rows.map(({ seq }) => seq)
}

type RejectRow = { reject_id: number; record_id: string | null; payload: string; is_open: boolean | number }

/** Open rejects that have become the same are one, with the values of the last. */
async function rewriteRejects(session: Session, run: Run, { hidden, after }: Step): Promise<readonly number[]> {
  const columns = sql`record_id, payload, resolved_at IS NULL AS is_open`
  const rows = await nextRows<RejectRow>(session, run, after, { table: 'rejects', number: 'reject_id', columns })
  const rewritten = rows.map(({ reject_id, record_id, payload, is_open }) => {
    const next = hidden.payload(payload)
    return { reject_id, payload: next, record_key: rejectKey(record_id, next), is_open: Boolean(is_open) }
  })
  const open = rewritten.filter(({ is_open }) => is_open)
  const last = new Map(open.map(({ record_key, reject_id }) => [record_key, reject_id]))
  const dropped = open.flatMap(({ record_key, reject_id }) => (last.get(record_key) === reject_id ? [] : [reject_id]))
  if (open.length > 0)
    await session.run(sql`
      DELETE FROM rejects WHERE organization = ${run.organization} AND resolved_at IS NULL
        AND (${isIn('record_key', [...last.keys()])} OR ${isIn('reject_id', dropped)})
        AND NOT (${isIn('reject_id', [...last.values()])})`)
  const kept = rewritten.flatMap(({ is_open, ...row }) => (is_open && dropped.includes(row.reject_id) ? [] : [row]))
  const texts = { payload: 'text', record_key: 'text' } as const
  await rewrite(session, { table: 'rejects', number: 'reject_id', rows: kept, columns: texts })
  return rows.map(({ reject_id }) => reject_id)
}

async function rewriteErrors(session: Session, run: Run, { after }: Step): Promise<readonly number[]> {
  const wanted = { table: 'runs', number: 'id', columns: sql`error`, more: sql`AND error IS NOT NULL` }
  const rows = await nextRows<{ id: number; error: string }>(session, run, after, wanted)
  const rewritten = rows.map(({ id, error }) => ({ id, error: withoutQuotation(error) }))
  await rewrite(session, { table: 'runs', number: 'id', rows: rewritten, columns: { error: 'text' } })
  return rows.map(({ id }) => id)
}

type Rewritten = {
  table: string
  number: string
  rows: readonly Readonly<Record<string, string | number | null>>[]
  columns: Readonly<Record<string, 'text' | 'json'>>
}

/** Writes the new values of rows, each found by its number. */
async function rewrite(session: Session, { table, number, rows, columns }: Rewritten): Promise<void> {
  if (rows.length === 0) return
  const set = Object.keys(columns).map((name) => text(`${name} = given.${name}`))
  await session.run(sql`
    WITH ${rowsGiven('given', rows, { ...columns, [number]: 'bigint' })}
    UPDATE ${text(table)} SET ${joined(set)} FROM given WHERE ${text(`${table}.${number} = given.${number}`)}`)
}

/** How far the rewriting of an organization is: the rows of this table up to this one, and the tables before it, are done. */
export type Place = { table: string; row: number }

/** The tables with values that a policy may hide, in the order in which they are rewritten. */
export const HIDDEN_TABLES = ['customers', 'changes', 'rejects', 'runs'] as const
export const FIRST_TABLE = HIDDEN_TABLES[0]

/** Rows rewritten in one transaction. */
export const REWRITTEN_AT_ONCE = 2000

/** The columns of `customers` that a policy may hide. */
const HIDABLE_COLUMNS = [...TEXT_FIELDS, 'extra'] as const

/** The place after some rows, whose numbers are given: the last of them, or the next table after the last rows of one. */
function placeAfter({ table }: Place, numbers: readonly number[]): Place | undefined {
  const last = numbers.at(-1)
  if (last !== undefined && numbers.length === REWRITTEN_AT_ONCE) return { table, row: last }
  const next = HIDDEN_TABLES[HIDDEN_TABLES.findIndex((name) => name === table) + 1]
  return next === undefined ? undefined : { table: next, row: 0 }
}

/** A customer under the new policy; the same object where nothing differs. A value that is nested too deeply to be hashed is not kept. */
function hiddenCustomer<Row extends HidableColumns>(row: Row, hidden: HiddenValues): Row {
  try {
    return hidden.customer(row)
  } catch (error) {
    if (error instanceof RangeError) return hidden.customer({ ...row, extra: null })
    throw error
  }
}

/** What the service said about a refusal may repeat a value. */
const QUOTATION = / \((?:[\w.-]{1,60}: )?".*"\)/s

/** The message of an error without what the service said; the same text if it said nothing. */
function withoutQuotation(error: string): string {
  return error.replace(QUOTATION, '')
}
