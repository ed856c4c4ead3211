import type { Run } from '../../../run.ts'
import type { PagesDecided } from '../../pages/decide-pages.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { FORGET_ABSENCES, RELEASE } from '../removals/forget-absences.ts'
import { ArrayOf, type Session } from '../session.ts'
import { writeTogether, type NamedPart, type Part } from '../together.ts'
import { stampAt } from '../update-stamp.ts'
import { TEXT_FIELDS, type Customer } from '../../../customer.ts'
import { storableTime } from '../stored-time.ts'
import { windowColumns, type WindowColumns } from '../../sql/stored-windows.ts'

/** The run that writes, and the moment. */
type Writing = { run: Pick<Run, 'id' | 'organization'>; now: string }

/**
 * How many rows each part wrote, by its name. Fewer are updated where another program deleted some between the look-up and this. `pages`
 * are those that the run has saved until now.
 */
export type Written = { pages: number } & Record<(typeof COUNTED)[number], number>

/** The parts that write a row for each that they are given. */
const COUNTED = ['stamp', 'inserted', 'updated', 'fed', 'rejected'] as const

/** Writes all that was decided about pages, in one statement; parts without rows are left out. */
export async function writePages(
  session: Session,
  run: Writing['run'],
  decided: PagesDecided,
  nowMs: number,
): Promise<Written> {
  const writing = { run, now: sqlTime(nowMs) }
  const { inserted, updated, changes, rejects, windows, present, released, edited } = decided
  const isSeen = inserted.length + updated.size + changes.length > 0
  const named: NamedPart[] = [
    ['stamp', stampAt(nowMs), isSeen],
    ['inserted', insertion(writing, inserted), inserted.length > 0],
    ['updated', updating(writing, updated), updated.size > 0],
    ['fed', feeding(writing, changes), changes.length > 0],
    ['rejected', rejecting(writing, rejects), rejects.size > 0],
    ['present', onRows(writing, FORGET_ABSENCES, present), present.size > 0],
    ['released', onRows(writing, RELEASE, released), released.size > 0],
    ['edited', onRows(writing, NOTE_EDITED, edited), edited.size > 0],
    ['recorded', recording(run, windows), windows.size > 0],
  ]
  const needed = new Set(named.flatMap(([name, , isNeeded]) => (isNeeded ? [name] : [])))
  const counts = COUNTED.map((name) => `(SELECT ${needed.has(name) ? `count(*) FROM ${name}` : '0'}) AS ${name}`)
  const written = await writeTogether<Written>(session, named, {
    sql: `UPDATE runs SET pages = pages + $2, received = received + $3, inserted = inserted + $4, updated = updated + $5,
        unchanged = unchanged + $6, duplicates = duplicates + $7, rejected = rejected + $8, suppressed = suppressed + $9,
        returned = returned + $10, read_before = read_before - $11
      WHERE id = $1
      RETURNING pages, ${counts.join(', ')}`,
    parameters: [run.id, ...countsOf(decided)],
  })
  return written ?? { pages: 0, stamp: 0, inserted: 0, updated: 0, fed: 0, rejected: 0 }
}

function countsOf({ saved: { pages, records, writtenAgain } }: PagesDecided): number[] {
  const { received, inserted, updated, unchanged, duplicates, rejected, suppressed, returned } = records
  const counts = [received, inserted, updated, unchanged, duplicates, rejected, suppressed, returned]
  return [pages.length, ...counts, writtenAgain]
}

/** Fails where another program inserted the customer since it was looked up. */
function insertion({ run, now }: Writing, inserted: PagesDecided['inserted']): Part {
  const columns = columnsOf(inserted.map(({ customer }) => customer))
  return {
    sql: `INSERT INTO customers
        (organization, row_id, id, ${FIELDS.join(', ')}, last_run_id, updated_at, first_seen_at, changed_at)
      SELECT $1, given.row_id, given.id, ${AS_STORED.join(', ')}, $2::bigint, stamp.updated_at, $3::timestamptz, $3::timestamptz
      FROM ${givenFrom(4, [['id', 'text']])}, stamp RETURNING 1`,
    parameters: [
      run.organization,
      run.id,
      now,
      inserted.map(({ rowId }) => rowId),
      ArrayOf.texts(inserted.map(({ customer }) => customer.id)),
      ...columns,
    ],
  }
}

function updating({ run, now }: Writing, updated: PagesDecided['updated']): Part {
  const updates = [...updated.values()]
  return {
    sql: `UPDATE customers SET ${FIELDS.map((field, index) => `${field} = ${AS_STORED[index]}`).join(', ')},
        missing_since = NULL, removed_at = NULL, updated_at = stamp.updated_at,
        changed_at = CASE WHEN given.is_changed THEN $3::timestamptz ELSE customers.changed_at END,
        last_run_id = CASE WHEN given.is_own THEN $2::bigint ELSE customers.last_run_id END
      FROM ${givenFrom(4, [
        ['is_changed', 'boolean'],
        ['is_own', 'boolean'],
      ])}, stamp
      WHERE customers.organization = $1 AND customers.row_id = given.row_id RETURNING 1`,
    parameters: [
      run.organization,
      run.id,
      now,
      [...updated.keys()],
      updates.map(({ isChanged }) => isChanged),
      updates.map(({ isOwn }) => isOwn),
      ...columnsOf(updates.map(({ customer }) => customer)),
    ],
  }
}

/** `seq` is given in order, and only when the stamp is locked. */
function feeding({ run, now }: Writing, changes: PagesDecided['changes']): Part {
  return {
    sql: `INSERT INTO changes (run_id, organization, id, change, fields, at)
      SELECT $2::bigint, $1, given.id, given.change, given.fields::json, $3::timestamptz
      FROM stamp, unnest($4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS given (id, change, fields, number)
      ORDER BY number RETURNING 1`,
    parameters: [
      run.organization,
      run.id,
      now,
      changes.map(({ id }) => id),
      changes.map(({ change }) => change),
      changes.map(({ fields }) => fields),
    ],
  }
}

/** An open reject from an earlier run is updated, not added again. */
function rejecting({ run, now }: Writing, rejects: PagesDecided['rejects']): Part {
  const given = [...rejects.values()]
  return {
    sql: `INSERT INTO rejects
        (run_id, organization, record_id, record_key, page, position, payload, reasons, first_seen_at, seen_at)
      SELECT $2::bigint, $1, record_id, record_key, page, position, payload, reasons::json, $3::timestamptz, $3::timestamptz
      FROM unnest($4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::text[])
        WITH ORDINALITY AS given (record_id, record_key, page, position, payload, reasons, number)
      ORDER BY number
      ON CONFLICT (organization, record_key) WHERE resolved_at IS NULL DO UPDATE SET
        run_id = excluded.run_id, page = excluded.page, position = excluded.position, payload = excluded.payload,
        reasons = excluded.reasons, seen_at = excluded.seen_at
      RETURNING 1`,
    parameters: [
      run.organization,
      run.id,
      now,
      given.map(({ recordId }) => recordId),
      given.map(({ key }) => key),
      given.map(({ page }) => page),
      given.map(({ position }) => position),
      given.map(({ payload }) => payload),
      given.map(({ reasons }) => JSON.stringify(reasons)),
    ],
  }
}

const NOTE_EDITED = `INSERT INTO edited_customers (organization, row_id) SELECT $1, unnest($2::bigint[])
  ON CONFLICT (organization, row_id) DO UPDATE SET edit = excluded.edit`

function onRows({ run }: Writing, sql: string, rows: ReadonlySet<number>): Part {
  return { sql, parameters: [run.organization, [...rows]] }
}

/** The columns that hold a record. */
const FIELDS = [...TEXT_FIELDS, 'created_at_utc', 'extra'] as const

/** The columns of customers as the rows of `given`. */
const AS_STORED = FIELDS.map((field) => {
  if (field === 'created_at_utc') return 'given.created_at_utc::timestamptz'
  return field === 'extra' ? 'given.extra::json' : `given.${field}`
})

/** An array for each of FIELDS. */
function columnsOf(customers: readonly Customer[]): ArrayOf[] {
  return FIELDS.map((field) => ArrayOf.texts(customers.map((customer) => customer[field]))).with(
    FIELDS.indexOf('created_at_utc'),
    ArrayOf.texts(customers.map((customer) => storableTime(customer.created_at_utc))),
  )
}

/**
 * The rows of arrays from parameter `first` on: row numbers, then `others`, then FIELDS. The planner does not see how many rows there are,
 * so it looks each of them up. Each array is expanded in the select list: in FROM, the server would first write every one of them into a
 * store of its own.
 */
function givenFrom(first: number, others: readonly (readonly [name: string, type: string])[]): string {
  const columns = [['row_id', 'bigint'], ...others, ...FIELDS.map((field) => [field, 'text'] as const)]
  const expanded = columns.map(([name, type], index) => `unnest((SELECT $${first + index}::${type}[])) AS ${name}`)
  return `(SELECT ${expanded.join(', ')}) AS given`
}

/** A window that is read again replaces the one before. Bytes are sent as hexadecimal text. */
function recording(run: Pick<Run, 'id'>, windows: PagesDecided['windows']): Part {
  const given = Array.from(windows.values(), ({ window, rows }) => windowColumns(window, rows))
  const column = (name: keyof WindowColumns) => given.map((row) => row[name])
  return {
    sql: `INSERT INTO windows (run_id, start, size, per_page, total, last_page, beyond_end, row_ids, rejected, place, count)
      SELECT $1::bigint, start, size, per_page, total, last_page, beyond_end, decode(row_ids, 'hex'), rejected, place, count
      FROM unnest($2::bigint[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[], $7::boolean[], $8::text[], $9::text[],
        $10::bigint[], $11::bigint[])
        AS given (start, size, per_page, total, last_page, beyond_end, row_ids, rejected, place, count)
      ON CONFLICT (run_id, start, size) DO UPDATE SET per_page = excluded.per_page, total = excluded.total,
        last_page = excluded.last_page, beyond_end = excluded.beyond_end, row_ids = excluded.row_ids,
        rejected = excluded.rejected, place = excluded.place, count = excluded.count`,
    parameters: [
      run.id,
      ...[
        column('start'),
        column('size'),
        column('per_page'),
        column('total'),
        column('last_page'),
        column('beyond_end'),
      ],
      given.map(({ row_ids }) => row_ids?.toString('hex') ?? null),
      ...[column('rejected'), column('place'), column('count')],
    ],
  }
}
