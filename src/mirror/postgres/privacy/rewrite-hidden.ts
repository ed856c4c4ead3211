import type { HidableColumns, HiddenValues } from '../../../privacy/hidden-values.ts'
import type { Run } from '../../../run.ts'
import { rejectKey } from '../../../sorted-page.ts'
import {
  HIDABLE_COLUMNS,
  hiddenCustomer,
  placeAfter,
  REWRITTEN_AT_ONCE,
  withoutQuotation,
  type Place,
} from '../../hidden-rows.ts'
import type { Session } from '../session.ts'
import { updateStamp } from '../update-stamp.ts'

/** Rewrites the next rows; the place after them, undefined when none is left. */
export async function rewriteSome(
  session: Session,
  run: Run,
  { hidden, place, nowMs }: { hidden: HiddenValues; place: Place; nowMs: number },
): Promise<Place | undefined> {
  const rewrite = REWRITE[place.table]
  if (rewrite === undefined) return undefined
  return placeAfter(place, await rewrite(session, run, { hidden, after: place.row, nowMs }))
}

type Step = { hidden: HiddenValues; after: number; nowMs: number }

/** Each function returns the number of the last row that it looked at; undefined if there was none. */
const REWRITE: Partial<Record<string, (session: Session, run: Run, step: Step) => Promise<number | undefined>>> = {
  customers: rewriteCustomers,
  changes: rewriteChanges,
  rejects: rewriteRejects,
  runs: rewriteErrors,
}

type CustomerRow = HidableColumns & { row_id: number }

/** `last_run_id` moves as well: the row was written, and not by hand. */
async function rewriteCustomers(
  session: Session,
  run: Run,
  { hidden, after, nowMs }: Step,
): Promise<number | undefined> {
  const rows = await session.all<CustomerRow>(
    `SELECT row_id, ${HIDABLE_COLUMNS.join(', ')} FROM customers
     WHERE organization = $1 AND row_id > $2 ORDER BY row_id LIMIT ${REWRITTEN_AT_ONCE}`,
    run.organization,
    after,
  )
  const written = rows.flatMap((row) => {
    const rewritten = hiddenCustomer(row, hidden)
    return rewritten === row ? [] : [rewritten]
  })
  if (written.length > 0) {
    const fields = [...hidden.columns, 'extra'] as const
    const set = fields.map((field) => `${field} = given.${field}${field === 'extra' ? '::json' : ''}`).join(', ')
    const arrays = fields.map((_, index) => `$${index + 5}::text[]`).join(', ')
    await session.run(
      `UPDATE customers SET ${set}, updated_at = $3::timestamptz, last_run_id = $4
       FROM unnest($2::bigint[], ${arrays}) AS given (row_id, ${fields.join(', ')})
       WHERE customers.organization = $1 AND customers.row_id = given.row_id`,
      ...[run.organization, written.map(({ row_id }) => row_id), await updateStamp(session, nowMs), run.id],
      ...fields.map((field) => written.map((row) => row[field])),
    )
  }
  return rows.at(-1)?.row_id
}

/** In the order of an index, which PostgreSQL would rather sort at each step, with all rows that are left. For this transaction. */
const IN_ORDER = 'SET LOCAL enable_sort = off'
const SORTED = 'SET LOCAL enable_sort = on'

/** So few changes of an organization are sorted at each step. In the order of the feed stand those of all organizations. */
const FEW = 5 * REWRITTEN_AT_ONCE

async function hasFewChanges(session: Session, organization: string): Promise<boolean> {
  const beyond = `SELECT id FROM changes WHERE organization = $1 ORDER BY id LIMIT 1 OFFSET ${FEW}`
  return (await session.first(beyond, organization)) === undefined
}

async function rewriteChanges(session: Session, run: Run, { hidden, after }: Step): Promise<number | undefined> {
  await session.run(IN_ORDER)
  if (await hasFewChanges(session, run.organization)) await session.run(SORTED)
  // '{ }' says that the customer of then was deleted: history must not show that life with the values of a later one.
  const rows = await session.all<{ seq: number; fields: string }>(
    `SELECT seq, fields FROM changes
     WHERE organization = $1 AND seq > $2 AND fields::text <> '{ }' ORDER BY seq LIMIT ${REWRITTEN_AT_ONCE}`,
    run.organization,
    after,
  )
  const written = rows.flatMap(({ seq, fields }) => {
    const rewritten = hidden.changedFields(fields)
    return rewritten === fields ? [] : [{ seq, rewritten }]
  })
  if (written.length === 0) return rows.at(-1)?.seq
  await session.run(
    `UPDATE changes SET fields = given.fields::json FROM unnest($1::bigint[], $2::text[]) AS given (seq, fields)
     WHERE changes.seq = given.seq`,
    written.map(({ seq }) => seq),
    written.map(({ rewritten }) => rewritten),
  )
  return rows.at(-1)?.seq
}

type RejectRow = { reject_id: number; record_id: string | null; payload: string; is_open: boolean }

/** Open rejects that have become the same are one, with the values of the last. */
async function rewriteRejects(session: Session, run: Run, { hidden, after }: Step): Promise<number | undefined> {
  const rows = await session.all<RejectRow>(
    `SELECT reject_id, record_id, payload, resolved_at IS NULL AS is_open FROM rejects
     WHERE organization = $1 AND reject_id > $2 ORDER BY reject_id LIMIT ${REWRITTEN_AT_ONCE}`,
    run.organization,
    after,
  )
  const rewritten = rows.map(({ reject_id, record_id, payload, is_open }) => {
    const hiddenPayload = hidden.payload(payload)
    return { reject_id, is_open, payload: hiddenPayload, key: rejectKey(record_id, hiddenPayload) }
  })
  const open = new Map(rewritten.filter(({ is_open }) => is_open).map((row) => [row.key, row.reject_id]))
  const written = rewritten.filter((row) => !row.is_open || open.get(row.key) === row.reject_id)
  await session.run(
    `DELETE FROM rejects WHERE organization = $1 AND resolved_at IS NULL AND reject_id NOT IN (SELECT unnest($2::bigint[]))
       AND (record_key = ANY ($3::text[]) OR reject_id = ANY ($4::bigint[]))`,
    run.organization,
    written.map(({ reject_id }) => reject_id),
    [...open.keys()],
    rewritten.map(({ reject_id }) => reject_id),
  )
  await session.run(
    `UPDATE rejects SET payload = given.payload, record_key = given.key
     FROM unnest($1::bigint[], $2::text[], $3::text[]) AS given (reject_id, payload, key)
     WHERE rejects.reject_id = given.reject_id`,
    written.map(({ reject_id }) => reject_id),
    written.map(({ payload }) => payload),
    written.map(({ key }) => key),
  )
  return rows.at(-1)?.reject_id
}

async function rewriteErrors(session: Session, run: Run, { after }: Step): Promise<number | undefined> {
  const rows = await session.all<{ id: number; error: string }>(
    `SELECT id, error FROM runs
     WHERE organization = $1 AND id > $2 AND error IS NOT NULL ORDER BY id LIMIT ${REWRITTEN_AT_ONCE}`,
    run.organization,
    after,
  )
  const written = rows.filter(({ error }) => withoutQuotation(error) !== error)
  await session.run(
    `UPDATE runs SET error = given.error FROM unnest($1::bigint[], $2::text[]) AS given (id, error)
     WHERE runs.id = given.id`,
    written.map(({ id }) => id),
    written.map(({ error }) => withoutQuotation(error)),
  )
  return rows.at(-1)?.id
}
