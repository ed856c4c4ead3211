import type { PagesDecided } from '../../decide-pages.ts'
import type { Run } from '../../../run.ts'
import { rowIdsFrom } from '../../row-ids.ts'
import type { Part } from '../together.ts'

/** A window that is read again replaces the one before. Bytes are sent as hexadecimal text. */
export function recording(run: Pick<Run, 'id'>, windows: PagesDecided['windows']): Part {
  const given = [...windows.values()]
  const listed = given.map(({ rows }) => ('place' in rows ? rows : undefined))
  const read = given.map(({ rows }) => ('place' in rows ? undefined : rows))
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
      given.map(({ window }) => window.size * (window.page - 1)),
      given.map(({ window }) => window.size),
      given.map(({ window }) => window.perPage),
      given.map(({ window }) => window.total ?? null),
      given.map(({ window }) => window.lastPage ?? null),
      given.map(({ window }) => window.beyondEnd),
      read.map((rows) => (rows === undefined ? null : rowIdsFrom(rows.rowIds).toString('hex'))),
      read.map((rows) => (rows === undefined ? null : JSON.stringify(rows.rejected))),
      listed.map((rows) => rows?.place ?? null),
      listed.map((rows) => rows?.count ?? null),
    ],
  }
}
