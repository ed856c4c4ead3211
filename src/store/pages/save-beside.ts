import type { PagesSaved } from '../../model/mirror.ts'
import type { Run } from '../../model/run.ts'
import { release } from '../absent/removals.ts'
import type { PagesDecided } from './decide-pages.ts'
import { requireTaken, wentBack } from '../refusals.ts'
import { either, given, givenAs, joined, moment, replacing, rowsOf, sql, type Sql, sqlTime, text } from '../port/sql.ts'
import { type Session, together } from '../port/store.ts'

/** Saves what pages bring besides customers. Throws AccountingBroken where a change or reject is not taken, MirrorUnusable where pages are gone. */
export async function saveBeside(session: Session, run: Run, decided: PagesDecided, nowMs: number) {
  const { organization } = run
  const { changes, saved } = decided
  const [windows, edited] = [[...decided.windows.values()], [...decided.edited]]
  const listed = [...decided.listed, ...[...run.heldRows].filter((rowId) => saved.seen.has(rowId))]
  const now = moment(sqlTime(nowMs))
  const rejects = Array.from(decided.rejects.values(), ({ recordId, key, ...reject }) => {
    return { ...reject, record_id: recordId, record_key: key }
  })
  const rejectNames = text(Object.keys(REJECT).join(', '))
  const take = (rows: readonly unknown[], statement: Sql) =>
    rows.length === 0 ? Promise.resolve(0) : session.run(statement)
  const [fed, rejected] = await together(
    take(
      changes,
      sql`INSERT INTO changes (run_id, organization, id, change, fields, changed_at)
        SELECT ${run.id}, ${organization}, id, change, fields, ${now}
        FROM ${given(changes, { id: 'text', change: 'text', fields: 'json' })}`,
    ),
    // An open reject from an earlier run is updated, not added again.
    take(
      rejects,
      sql`INSERT INTO rejects (run_id, organization, ${rejectNames}, first_seen_at, seen_at)
        SELECT ${run.id}, ${organization}, ${rejectNames}, ${now}, ${now} FROM ${given(rejects, REJECT)} WHERE true
        ON CONFLICT (organization, record_key) WHERE resolved_at IS NULL
          ${text(replacing('run_id', 'page', 'position', 'payload', 'reasons', 'seen_at'))}`,
    ),
    take(
      windows,
      sql`INSERT INTO windows (run_id, start, size, per_page, total, beyond_end, row_ids, rejected)
        SELECT ${run.id}, start, size, per_page, total, beyond_end, ${ROW_IDS}, rejected
        FROM ${given(windows, WINDOW)} WHERE true
        ON CONFLICT (run_id, start, size) ${text(replacing('per_page', 'total', 'beyond_end', 'row_ids', 'rejected'))}`,
    ),
    take(
      edited,
      sql`${either('REPLACE', 'INSERT')} INTO edited_customers (organization, row_id)
        SELECT ${organization}, row_id FROM ${givenAs('row_id', edited)}
        ${either('', 'ON CONFLICT (organization, row_id) DO UPDATE SET edit = excluded.edit')}`,
    ),
    take(listed, sql`DELETE FROM absences WHERE ${rowsOf(organization, listed)}`),
    release(session, organization, listed),
    countPages(session, run, saved),
  )
  requireTaken(run, 'changes', { given: changes.length, taken: fed })
  requireTaken(run, 'rejects', { given: rejects.length, taken: rejected })
}

const ROW_IDS = either('unhex(row_ids)', `decode(row_ids, 'hex')`)

const REJECT = {
  ...{ record_id: 'text', record_key: 'text', page: 'bigint', position: 'bigint', payload: 'text', reasons: 'json' },
}

const WINDOW = {
  ...{ start: 'bigint', size: 'bigint', per_page: 'bigint', total: 'bigint' },
  ...{ beyond_end: 'boolean', row_ids: 'text', rejected: 'text' },
}

async function countPages(session: Session, run: Run, { pages, records, writtenAgain }: PagesSaved) {
  const counts = Object.entries(records).map(([name, count]) => sql`${text(name)} = ${text(name)} + ${count},`)
  const stored = await session.first<{ pages: number }>(sql`
    UPDATE runs SET ${joined(counts, ' ')}
      pages = pages + ${pages.length}, read_before = read_before - ${writtenAgain} WHERE id = ${run.id} RETURNING pages`)
  // Row numbers that the run knows may be those of others.
  if (stored?.pages !== run.pages + pages.length) throw wentBack(run.organization)
}
