import { isOurs } from '../errors/errors.ts'
import { TEXT_FIELDS } from '../model/customer.ts'
import { rejectKey } from '../model/page.ts'
import type { Run, RunPrivacy, Start } from '../model/run.ts'
import { hiddenValues, mixedPolicy, NOTHING_HIDDEN, policyJson } from '../privacy/hidden-values.ts'
import type { HidableColumns, HiddenFields, HiddenValues } from '../privacy/hidden-values.ts'
import { asText, either, given, isIn, joined, replacing, sql, text } from './port/sql.ts'
import { records, type Session, type Store } from './port/store.ts'
import { renewLease, updateStamp } from './runs/lease.ts'
import { forgetReading, MEMORY_OF_LIST } from './runs/list-memory.ts'
import { READ_TO_END } from './schema/views.ts'

export function privacyVerbs(store: Store) {
  return {
    /** Brings some thousands of stored values to the policy of a run, before it reads; true while more are left. The last step purges the file. */
    applyPrivacy: async (run: Run, nowMs: number) => {
      if (run.privacy?.isUnapplied !== true) return false
      if (await store.write((session) => rewritePrivacy(session, run, nowMs), { securely: true })) return true
      // If the old values are not gone, the run is as good without, and the next one tries again.
      const isPurged = await store.purge(HOLDING_TABLES).catch((error: unknown) => {
        if (isOurs(error)) return false
        throw error
      })
      const purged = sql`UPDATE privacy_policies SET is_unpurged = false WHERE next_policy IS NULL`
      if (isPurged) await store.write((session) => session.run(purged))
      return false
    },
    listPrivacy: () => store.read(listPrivacy),
  }
}

/** Compares the policy of a run with the stored one. If it is another, every record is read again, and `applyPrivacy` rewrites the values. */
export async function startPrivacy(
  session: Session,
  { organization, privacy }: Start,
  stored: StoredPolicy | undefined,
): Promise<RunPrivacy | undefined> {
  if (privacy === 'unreadable') return undefined
  const policy = privacy ?? NOTHING_HIDDEN
  const { policy: before = NOTHING_HIDDEN, nextPolicy: next, unfilled = [] } = stored ?? {}
  const to = policyJson(policy)
  if (to === policyJson(next ?? before)) return stored && runPrivacy(policy, stored)
  // An interrupted change left some values under one policy, and some under the other.
  const from = next === undefined ? before : mixedPolicy(before, next)
  const hidden = hiddenValues(from, policy)
  // Nothing is left of the digests of pages and records as they were sent.
  await forgetReading(session, organization)
  // Every row is of a run, and the one that begins is not recorded yet.
  const earlier = await session.first(sql`SELECT 1 FROM runs WHERE organization = ${organization} LIMIT 1`)
  const row =
    hidden === undefined || earlier === undefined
      ? sql`${to}, NULL, NULL, NULL, ${JSON.stringify(unfilled)}, ${stored?.isUnpurged ?? false}`
      : sql`${policyJson(from)}, ${to}, ${TABLES[0]}, 0,
        ${JSON.stringify([...new Set([...unfilled, ...hidden.unfilled])])}, ${true}`
  await session.run(sql`
    INSERT INTO privacy_policies (organization, policy, next_policy, next_table, next_row, unfilled, is_unpurged)
    VALUES (${organization}, ${row})
    ON CONFLICT (organization) ${text(replacing('policy', 'next_policy', 'next_table', 'next_row', 'unfilled', 'is_unpurged'))}`)
  return runPrivacy(policy, await findPolicy(session, organization))
}

async function rewritePrivacy(session: Session, run: Run, nowMs: number): Promise<boolean> {
  await renewLease(session, run, nowMs)
  const { organization, privacy } = run
  const stored = await findPolicy(session, organization)
  if (privacy === undefined || stored?.nextPolicy === undefined) return false
  const hidden = hiddenValues(stored.policy, privacy.policy)
  const { nextTable: table = TABLES[0], nextRow: after = 0 } = stored
  const rows = hidden === undefined ? [] : await REWRITES[table]({ session, run, hidden, after, nowMs })
  const isTableDone = rows.length < REWRITTEN_AT_ONCE
  const next = isTableDone ? TABLES[TABLES.indexOf(table) + 1] : table
  const row = isTableDone ? 0 : (rows.at(-1)?.number ?? 0)
  const set =
    next === undefined
      ? sql`policy = next_policy, next_policy = NULL, next_table = NULL, next_row = NULL`
      : sql`next_table = ${next}, next_row = ${row}`
  await session.run(sql`UPDATE privacy_policies SET ${set} WHERE organization = ${organization}`)
  return next !== undefined
}

/** Where a run that has ended read the list to its end, a value that takes the place of NULL is a change from then on. */
export async function noteFilled(session: Session, { id, organization, privacy }: Run) {
  if (privacy === undefined || privacy.unfilled.length === 0) return
  await session.run(sql`
    UPDATE privacy_policies SET unfilled = '[]'
    WHERE organization = ${organization} AND EXISTS (SELECT 1 FROM runs WHERE id = ${id} AND ${text(READ_TO_END)})`)
}

/** The policy of each organization that has one; while values are rewritten, the one they will follow. */
async function listPrivacy(session: Session) {
  const rows = await records<StoredPolicy>(session, sql`SELECT * FROM privacy_policies ORDER BY organization`)
  return rows.map(({ organization, policy, nextPolicy, isUnpurged }) => {
    /** What is left from before it: values that do not follow it yet, or old ones in free space of the file. */
    const left = nextPolicy === undefined ? (isUnpurged ? 'free space' : 'nothing') : 'values'
    return { organization, policy: nextPolicy ?? policy, left } as const
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
  nextTable: Table | undefined
  nextRow: number | undefined
  unfilled: readonly string[]
  isUnpurged: boolean
}

function runPrivacy(policy: RunPrivacy['policy'], stored: StoredPolicy | undefined): RunPrivacy {
  return {
    policy,
    hidden: hiddenValues(NOTHING_HIDDEN, policy),
    unfilled: stored?.unfilled ?? [],
    isUnapplied: stored?.nextPolicy !== undefined || stored?.isUnpurged === true,
  }
}

/** Rows of an organization that are to be brought under another policy: those of a table after this number. */
type Step = { session: Session; run: Run; hidden: HiddenValues; after: number; nowMs: number }

/** The tables with values that a policy may hide, in the order in which they are rewritten, with the column that numbers their rows. */
const NUMBERS = { customers: 'row_id', changes: 'seq', rejects: 'reject_id', runs: 'id' } as const
type Table = keyof typeof NUMBERS

/** The tables that hold values of customers, or digests and numbers of them. */
export const HOLDING_TABLES = [...Object.keys(NUMBERS), ...MEMORY_OF_LIST, 'windows', 'absences', 'held_rows']

/** How each table is rewritten: a step returns the rows that it looked at. */
const REWRITES = { customers: rewriteCustomers, changes: rewriteChanges, rejects: rewriteRejects, runs: rewriteErrors }
const TABLES = ['customers', 'changes', 'rejects', 'runs'] as const

const REWRITTEN_AT_ONCE = 2000

/** A plus keeps SQLite from an index by which all rows that are left would be sorted at each step, or looked for among those given. */
const ofOrganization = (run: Run, table: Table) =>
  sql`${either('+', '')}${text(table)}.organization = ${run.organization}`

function nextRows<Row>({ session, run, after }: Step, table: Table, columns: string, more = sql``) {
  const number = text(NUMBERS[table])
  return session.all<Row & { number: number }>(sql`
    SELECT ${number} AS number, ${text(columns)} FROM ${text(table)}
    WHERE ${ofOrganization(run, table)} AND ${number} > ${after} ${more} ORDER BY ${number} LIMIT ${REWRITTEN_AT_ONCE}`)
}

type Rewrites = { columns: readonly string[]; rows: readonly Readonly<Record<string, string | number | null>>[] }

/** Writes these columns in these rows. JSON is given as text, which keeps it as it is. */
async function rewrite({ session, run }: Step, table: Table, { columns, rows }: Rewrites, more = sql``) {
  if (rows.length === 0) return
  const set = columns.map((column) => text(`${column} = given.${column}`))
  const typeOf = (column: string) => (column === 'extra' || column === 'fields' ? 'json' : 'text')
  const types = { number: 'bigint', ...Object.fromEntries(columns.map((column) => [column, typeOf(column)])) }
  await session.run(sql`
    UPDATE ${text(table)} SET ${joined(set)} ${more} FROM ${given(rows, types)}
    WHERE ${ofOrganization(run, table)} AND ${text(`${table}.${NUMBERS[table]} = given.number`)}`)
}

/** `last_run_id` moves as well: the row was written, and not by hand. Only what may differ is set: SQLite writes the index of every column. */
async function rewriteCustomers(step: Step) {
  const { session, run, hidden, nowMs } = step
  const found = await nextRows<HidableColumns>(step, 'customers', [...TEXT_FIELDS, 'extra'].join(', '))
  const columns = [...hidden.columns, 'extra' as const]
  const rows = found.flatMap((row) => {
    const next = hidden.customer(row)
    return next === row
      ? []
      : [{ number: row.number, ...Object.fromEntries(columns.map((name) => [name, next[name]])) }]
  })
  const stamp = await updateStamp(session, nowMs)
  await rewrite(step, 'customers', { columns, rows }, sql`, updated_at = ${stamp}, last_run_id = ${run.id}`)
  return found
}

async function rewriteChanges(step: Step) {
  // '{ }' says that the customer of then was deleted: history must not show that life with the values of a later one.
  const more = sql`AND ${asText('fields')} <> '{ }'`
  const found = await nextRows<{ fields: string }>(step, 'changes', 'fields', more)
  const rows = found.flatMap(({ number, fields }) => {
    const next = step.hidden.changedFields(fields)
    return next === fields ? [] : [{ number, fields: next }]
  })
  await rewrite(step, 'changes', { columns: ['fields'], rows })
  return found
}

type RejectRow = { record_id: string | null; payload: string; is_open: boolean | number }

/** Open rejects that have become the same are one, with the values of the last. */
async function rewriteRejects(step: Step) {
  const { session, run, hidden } = step
  const found = await nextRows<RejectRow>(step, 'rejects', 'record_id, payload, resolved_at IS NULL AS is_open')
  const rewritten = found.map(({ number, record_id, payload, is_open }) => {
    const next = hidden.payload(payload)
    return { number, payload: next, record_key: rejectKey(record_id, next), is_open: Boolean(is_open) }
  })
  const open = rewritten.filter(({ is_open }) => is_open)
  const lastOf = new Map(open.map(({ record_key, number }) => [record_key, number]))
  const dropped = open.flatMap(({ record_key, number }) => (lastOf.get(record_key) === number ? [] : [number]))
  if (open.length > 0)
    await session.run(sql`
      DELETE FROM rejects WHERE organization = ${run.organization} AND resolved_at IS NULL
        AND (${isIn('record_key', [...lastOf.keys()])} OR ${isIn('reject_id', dropped)})
        AND NOT (${isIn('reject_id', [...lastOf.values()])})`)
  const rows = rewritten.flatMap(({ is_open, ...row }) => (is_open && dropped.includes(row.number) ? [] : [row]))
  await rewrite(step, 'rejects', { columns: ['payload', 'record_key'], rows })
  return found
}

/** What the service said about a refusal may repeat a value. */
export const QUOTATION = / \((?:[\w.-]{1,60}: )?".*"\)/s

async function rewriteErrors(step: Step) {
  const found = await nextRows<{ error: string }>(step, 'runs', 'error', sql`AND error IS NOT NULL`)
  const rows = found.map(({ number, error }) => ({ number, error: error.replace(QUOTATION, '') }))
  await rewrite(step, 'runs', { columns: ['error'], rows })
  return found
}
