import { isOurs } from '../errors/errors.ts'
import { TEXT_FIELDS } from '../model/customer.ts'
import type { Mirror, StoredPrivacy } from '../model/mirror.ts'
import { rejectKey } from '../model/page.ts'
import type { Run, RunPrivacy, Start } from '../model/run.ts'
import { type HidableColumns, hiddenValues, type HiddenValues } from '../privacy/hidden-values.ts'
import {
  type HiddenFields,
  isSamePolicy,
  mixedPolicy,
  NOTHING_HIDDEN,
  privacyPolicy,
  type PrivacyPolicy,
  storedForm,
} from '../privacy/privacy-policy.ts'
import { either, given, isIn, joined, replacing, sql, type Sql, text } from './port/sql.ts'
import { records, type Session, type Store } from './port/store.ts'
import { renewLease, updateStamp } from './runs/lease.ts'
import { forgetReading, MEMORY_OF_LIST } from './runs/list-memory.ts'

/** The verbs of a mirror that hide stored values. */
export function privacyVerbs(store: Store): Pick<Mirror, 'applyPrivacy' | 'listPrivacy'> {
  return {
    applyPrivacy: async (run, nowMs) => {
      if (!isPrivacyOwed(run)) return false
      if (await store.write((session) => rewritePrivacy(session, run, nowMs), { securely: true })) return true
      if (await isPurged(store)) await store.write(notePurged)
      return false
    },
    listPrivacy: () => store.read(listPrivacy),
  }
}

/** Whether the old values are gone. If not, the run is as good without, and the next one tries again. */
async function isPurged(store: Store): Promise<boolean> {
  try {
    return await store.purge(HOLDING_TABLES)
  } catch (error) {
    if (isOurs(error)) return false
    throw error
  }
}

/** Compares the policy of a run with the stored one. If it is another, every record is read again, and `applyPrivacy` rewrites the values. */
export async function startPrivacy(
  session: Session,
  { organization, privacy }: Start,
  stored: StoredPolicy | undefined,
): Promise<RunPrivacy | undefined> {
  if (privacy === 'unreadable') return undefined
  const policy = privacy ?? NO_POLICY
  const { policy: before = NOTHING_HIDDEN, nextPolicy: next, unfilled = [] } = stored ?? {}
  if (isSamePolicy(policy, next ?? before)) return stored && runPrivacy(policy, stored)
  // An interrupted change left some values under one policy, and some under the other.
  const from = next === undefined ? before : mixedPolicy(before, next)
  const hidden = hiddenValues(from, policy)
  // Nothing is left of the digests of pages and records as they were sent.
  await forgetReading(session, organization)
  const to = JSON.stringify(storedForm(policy))
  if (hidden !== undefined && (await hasRows(session, organization)))
    await session.run(sql`
      INSERT INTO privacy_policies (organization, policy, next_policy, next_table, next_row, unfilled, is_unpurged)
      VALUES (${organization}, ${JSON.stringify(storedForm(from))}, ${to}, ${FIRST_TABLE}, 0,
        ${JSON.stringify([...new Set([...unfilled, ...hidden.unfilled])])}, ${true})
      ON CONFLICT (organization) ${text(replacing('policy', 'next_policy', 'next_table', 'next_row', 'unfilled', 'is_unpurged'))}`)
  else
    await session.run(sql`
      INSERT INTO privacy_policies (organization, policy) VALUES (${organization}, ${to})
      ON CONFLICT (organization) ${text(replacing('policy', 'next_policy'))}`)
  return runPrivacy(policy, await findPolicy(session, organization))
}

const NO_POLICY = privacyPolicy({})

async function hasRows(session: Session, organization: string): Promise<boolean> {
  const rows = ['customers', 'changes', 'rejects', 'runs'].map((table) => {
    const more = text(table === 'runs' ? 'AND error IS NOT NULL' : '')
    return sql`EXISTS (SELECT 1 FROM ${text(table)} WHERE organization = ${organization} ${more})`
  })
  return (await session.first(sql`SELECT 1 WHERE ${joined(rows, ' OR ')}`)) !== undefined
}

async function rewritePrivacy(session: Session, run: Run, nowMs: number): Promise<boolean> {
  await renewLease(session, run, nowMs)
  const { organization, privacy } = run
  const stored = await findPolicy(session, organization)
  if (privacy === undefined || stored?.nextPolicy === undefined) return false
  const hidden = hiddenValues(stored.policy, privacy.policy)
  const place = { table: stored.nextTable ?? FIRST_TABLE, row: stored.nextRow ?? 0 }
  const next = hidden === undefined ? undefined : await rewriteSome(session, run, { hidden, place, nowMs })
  if (next === undefined)
    await session.run(sql`
      UPDATE privacy_policies SET policy = next_policy, next_policy = NULL, next_table = NULL, next_row = NULL
      WHERE organization = ${organization}`)
  else
    await session.run(sql`
      UPDATE privacy_policies SET next_table = ${next.table}, next_row = ${next.row} WHERE organization = ${organization}`)
  return next !== undefined
}

async function notePurged(session: Session) {
  await session.run(sql`UPDATE privacy_policies SET is_unpurged = false WHERE next_policy IS NULL`)
}

/** A run has read the list to its end: from then on a value that takes the place of NULL is a change. */
export async function noteFilled(session: Session, { organization, privacy }: Run) {
  if (privacy === undefined || privacy.unfilled.length === 0) return
  await session.run(sql`UPDATE privacy_policies SET unfilled = '[]' WHERE organization = ${organization}`)
}

/** The policy of each organization that has one; while values are rewritten, the one they will follow. */
async function listPrivacy(session: Session): Promise<StoredPrivacy[]> {
  const rows = await records<StoredPolicy>(session, sql`SELECT * FROM privacy_policies ORDER BY organization`)
  return rows.map(({ organization, policy, nextPolicy, isUnpurged }) => {
    const left = nextPolicy === undefined ? (isUnpurged ? 'free space' : 'nothing') : 'values'
    return { organization, policy: nextPolicy ?? policy, left }
  })
}

/** The policy that the stored values of an organization follow; undefined if none was ever hidden. */
export async function findPolicy(session: Session, organization: string): Promise<StoredPolicy | undefined> {
  const find = sql`SELECT * FROM privacy_policies WHERE organization = ${organization}`
  return (await records<StoredPolicy>(session, find))[0]
}

/** A row of `privacy_policies`. While values are rewritten, `nextPolicy` is the one that they will follow, and the rest is how far that is. */
type StoredPolicy = {
  organization: string
  policy: HiddenFields
  nextPolicy: HiddenFields | undefined
  nextTable: string | undefined
  nextRow: number | undefined
  unfilled: readonly string[]
  isUnpurged: boolean
}

function isPrivacyOwed({ privacy }: Pick<Run, 'privacy'>): boolean {
  return privacy?.storedAs !== undefined || privacy?.isUnpurged === true
}

function runPrivacy(policy: PrivacyPolicy, stored: StoredPolicy | undefined): RunPrivacy {
  return {
    policy,
    hidden: hiddenValues(NOTHING_HIDDEN, policy),
    storedAs: stored?.nextPolicy === undefined ? undefined : stored.policy,
    unfilled: stored?.unfilled ?? [],
    isUnpurged: stored?.isUnpurged ?? false,
  }
}

type Step = { hidden: HiddenValues; after: number; nowMs: number }
type Rewriting = { hidden: HiddenValues; place: Place; nowMs: number }

/** Rewrites the next rows; the place after them, undefined when none is left. */
async function rewriteSome(
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
type Place = { table: string; row: number }

/** The tables with values that a policy may hide, in the order in which they are rewritten. */
const HIDDEN_TABLES = ['customers', 'changes', 'rejects', 'runs'] as const
/** The tables that hold values of customers, or digests and numbers of them. */
export const HOLDING_TABLES = [...HIDDEN_TABLES, ...MEMORY_OF_LIST, 'windows', 'absences', 'held_rows'] as const
const FIRST_TABLE = HIDDEN_TABLES[0]
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
