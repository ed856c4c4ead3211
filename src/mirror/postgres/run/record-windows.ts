import type { PagesDecided } from '../../pages/decide-pages.ts'
import type { Run } from '../../../run.ts'
import { windowColumns, type WindowColumns } from '../../sql/stored-windows.ts'
import type { Part } from '../together.ts'

/** A window that is read again replaces the one before. Bytes are sent as hexadecimal text. */
export function recording(run: Pick<Run, 'id'>, windows: PagesDecided['windows']): Part {
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
