import type { HidableColumns, HiddenValues } from '../../privacy/hidden-values.ts'
import type { Run } from '../../model/run.ts'
import { rejectKey } from '../../model/page.ts'
import { given, isIn } from '../port/fragments.ts'
import { either, joined, sql, type Sql, text } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { updateStamp } from '../runs/lease.ts'
import { MEMORY_OF_LIST } from '../runs/windows.ts'
import { TEXT_FIELDS } from '../../model/customer.ts'

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
  const last = await rewritten(session, run, { hidden, after: place.row, nowMs })
  if (last !== undefined) return { table: place.table, row: last }
  const next = HIDDEN_TABLES[HIDDEN_TABLES.findIndex((name) => name === place.table) + 1]
  return next === undefined ? undefined : { table: next, row: 0 }
}

/** Each function returns the number of the last row that it looked at; undefined if no more are left. */
const REWRITE: Partial<Record<string, (session: Session, run: Run, step: Step) => Promise<number | undefined>>> = {
  customers: rewriteCustomers,
  changes: rewriteChanges,
  rejects: rewriteRejects,
  runs: rewriteErrors,
}

type Wanted = { table: Table; number: string; columns: Sql; more?: Sql }
type NextRows<Row> = { rows: (Row & Record<string, number>)[]; last: number | undefined }

/** The next rows of an organization in the order of their numbers, and the number of the last one; undefined if no more are left. */
async function nextRows<Row>(session: Session, run: Run, after: number, wanted: Wanted): Promise<NextRows<Row>> {
  const { table, number, columns, more = sql`` } = wanted
  // A plus keeps SQLite from an index by which all rows that are left would be sorted at each step.
  const rows = await session.all<Row & Record<string, number>>(sql`
    SELECT ${text(number)}, ${columns} FROM ${text(table)}
    WHERE ${either('+', '')}organization = ${run.organization} AND ${text(number)} > ${after} ${more}
    ORDER BY ${text(number)} LIMIT ${REWRITTEN_AT_ONCE}`)
  return { rows, last: rows.length === REWRITTEN_AT_ONCE ? rows.at(-1)?.[number] : undefined }
}

type CustomerRow = HidableColumns & { row_id: number }

/** `last_run_id` moves as well: the row was written, and not by hand. Only what may differ is set: SQLite writes the index of every column. */
async function rewriteCustomers(
  session: Session,
  run: Run,
  { hidden, after, nowMs }: Step,
): Promise<number | undefined> {
  const wanted: Wanted = { table: 'customers', number: 'row_id', columns: text(HIDABLE_COLUMNS.join(', ')) }
  const { rows, last } = await nextRows<CustomerRow>(session, run, after, wanted)
  const stamp = await updateStamp(session, nowMs)
  const fields = [...hidden.columns, 'extra' as const]
  const rewritten = rows.flatMap((row) => {
    const next = hiddenCustomer<CustomerRow>(row, hidden)
    return next === row ? [] : [{ ...Object.fromEntries(fields.map((name) => [name, next[name]])), row_id: row.row_id }]
  })
  // The plus again: SQLite would look for each row of the organization among those that are given.
  if (rewritten.length > 0)
    await session.run(sql`
      UPDATE customers SET ${setting(fields)}, updated_at = ${stamp}, last_run_id = ${run.id} FROM ${givenBy('row_id', fields, rewritten)}
      WHERE ${either('+', '')}customers.organization = ${run.organization} AND customers.row_id = given.row_id`)
  return last
}

async function rewriteChanges(session: Session, run: Run, { hidden, after }: Step): Promise<number | undefined> {
  // '{ }' says that the customer of then was deleted: history must not show that life with the values of a later one.
  const more = sql`AND ${either(`fields <> '{ }'`, `fields::text <> '{ }'`)}`
  const wanted: Wanted = { table: 'changes', number: 'seq', columns: sql`fields`, more }
  const { rows, last } = await nextRows<{ seq: number; fields: string }>(session, run, after, wanted)
  const rewritten = rows.flatMap(({ seq, fields }) => {
    const next = hidden.changedFields(fields)
    return next === fields ? [] : [{ seq, fields: next }]
  })
  await rewrite(session, { table: 'changes', number: 'seq', rows: rewritten, columns: ['fields'] })
  return last
}

type RejectRow = { reject_id: number; record_id: string | null; payload: string; is_open: boolean | number }

/** Open rejects that have become the same are one, with the values of the last. */
async function rewriteRejects(session: Session, run: Run, { hidden, after }: Step): Promise<number | undefined> {
  const columns = sql`record_id, payload, resolved_at IS NULL AS is_open`
  const { rows, last } = await nextRows<RejectRow>(session, run, after, {
    table: 'rejects',
    number: 'reject_id',
    columns,
  })
  const rewritten = rows.map(({ reject_id, record_id, payload, is_open }) => {
    const next = hidden.payload(payload)
    return { reject_id, payload: next, record_key: rejectKey(record_id, next), is_open: Boolean(is_open) }
  })
  const open = rewritten.filter(({ is_open }) => is_open)
  const lastOf = new Map(open.map(({ record_key, reject_id }) => [record_key, reject_id]))
  const dropped = open.flatMap(({ record_key, reject_id }) => (lastOf.get(record_key) === reject_id ? [] : [reject_id]))
  if (open.length > 0)
    await session.run(sql`
      DELETE FROM rejects WHERE organization = ${run.organization} AND resolved_at IS NULL
        AND (${isIn('record_key', [...lastOf.keys()])} OR ${isIn('reject_id', dropped)})
        AND NOT (${isIn('reject_id', [...lastOf.values()])})`)
  const kept = rewritten.flatMap(({ is_open, ...row }) => (is_open && dropped.includes(row.reject_id) ? [] : [row]))
  await rewrite(session, { table: 'rejects', number: 'reject_id', rows: kept, columns: ['payload', 'record_key'] })
  return last
}

async function rewriteErrors(session: Session, run: Run, { after }: Step): Promise<number | undefined> {
  const wanted: Wanted = { table: 'runs', number: 'id', columns: sql`error`, more: sql`AND error IS NOT NULL` }
  const { rows, last } = await nextRows<{ id: number; error: string }>(session, run, after, wanted)
  const rewritten = rows.map(({ id, error }) => ({ id, error: withoutQuotation(error) }))
  await rewrite(session, { table: 'runs', number: 'id', rows: rewritten, columns: ['error'] })
  return last
}

type Rewrites = readonly Readonly<Record<string, string | number | null>>[]
type Rewritten = { table: Table; number: string; rows: Rewrites; columns: readonly string[] }

async function rewrite(session: Session, { table, number, rows, columns }: Rewritten) {
  if (rows.length === 0) return
  await session.run(sql`
    UPDATE ${text(table)} SET ${setting(columns)} FROM ${givenBy(number, columns, rows)}
    WHERE ${text(`${table}.${number} = given.${number}`)}`)
}

const JSON_COLUMNS: readonly string[] = ['extra', 'fields']

/** JSON is given as text, which keeps it as it is. */
function setting(columns: readonly string[]): Sql {
  const cast = (column: string) => (JSON_COLUMNS.includes(column) ? either('', '::json') : sql``)
  return joined(columns.map((column) => sql`${text(`${column} = given.${column}`)}${cast(column)}`))
}

function givenBy(number: string, columns: readonly string[], rows: Rewrites) {
  return given(rows, { [number]: 'bigint', ...Object.fromEntries(columns.map((column) => [column, 'text'] as const)) })
}

/** How far the rewriting of an organization is: the rows of this table up to this one, and the tables before it, are done. */
export type Place = { table: string; row: number }

/** The tables with values that a policy may hide, in the order in which they are rewritten. */
const HIDDEN_TABLES = ['customers', 'changes', 'rejects', 'runs'] as const
/** The tables that hold values of customers, or digests and numbers of them. */
export const HOLDING_TABLES = [...HIDDEN_TABLES, ...MEMORY_OF_LIST, 'windows', 'absences', 'held_rows'] as const
export const FIRST_TABLE = HIDDEN_TABLES[0]
type Table = (typeof HIDDEN_TABLES)[number]

/** Rows rewritten in one transaction. */
const REWRITTEN_AT_ONCE = 2000

const HIDABLE_COLUMNS = [...TEXT_FIELDS, 'extra'] as const

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
