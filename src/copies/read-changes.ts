import { UsageError } from '../errors/errors.ts'
import { either, sql, text } from '../store/port/sql.ts'
import { columnsThere, readRows, requireMirrored, type SomeRows, type SqlValue } from './read-rows.ts'

/** The columns of a change, in order; a copy without personal data has no `fields`. */
const CHANGE_COLUMNS = [
  ...['seq', 'run_id', 'organization', 'id', 'change', 'fields', 'changed_at', 'missing_since'],
] as const

/**
 * The changes after a seq, in its order, of one organization or of all. Throws UsageError where changes after it were deleted, and for a seq that
 * was never given, as after an older file took the place of the mirror: a reader who has read up to there would miss some.
 */
export async function* readChanges(
  place: string,
  { organization, since }: { organization?: string | undefined; since: number },
): AsyncGenerator<SomeRows, void> {
  if (!(since >= 0))
    throw new UsageError('Changes are read after a seq: since is 0, or the seq of the last change that was read.')
  await requireMirrored(place, organization, [])
  const columns = await columnsThere(place, CHANGE_COLUMNS, 'changes')
  const of = (table: string) =>
    organization === undefined ? sql`TRUE` : sql`${text(table)}.organization = ${organization}`
  const deleted = sql`(SELECT coalesce(max(feed_seq), 0) FROM horizons WHERE ${of('horizons')})`
  // In one statement with the changes, since retention may delete some of them meanwhile.
  const changes = sql`SELECT ${text(columns.join(', '))}, ${deleted} AS deleted FROM changes WHERE seq > ${since} AND ${of('changes')} ORDER BY seq`
  let isFound = false
  for await (const some of readRows(place, changes, { asMade: true })) {
    for (const row of some.rows) requireKept(since, row.at(-1))
    isFound ||= some.rows.length > 0
    yield { columns: [...columns], rows: some.rows.map((row) => row.slice(0, -1)) }
  }
  if (isFound) return
  for await (const { rows } of readRows(place, sql`SELECT ${deleted}, ${GIVEN}`))
    for (const [seq, given] of rows) {
      requireKept(since, seq)
      if (given !== null && since > Number(given))
        throw new UsageError(
          `There is no change ${since} yet: the last one is ${Number(given)}. Start again from all customers, and continue from there.`,
        )
    }
}

/** The last seq that was given to a change, also to one that was deleted; NULL where this user may not know. */
const GIVEN = either(
  `(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes')`,
  `(SELECT CASE WHEN has_sequence_privilege(name, 'SELECT') AND NOT pg_is_in_recovery()
    THEN coalesce(pg_sequence_last_value(name::regclass), 0) END FROM pg_get_serial_sequence('changes', 'seq') AS name)`,
)

function requireKept(since: number, deleted: SqlValue | undefined): void {
  if (Number(deleted) <= since) return
  throw new UsageError(
    `The changes before ${Number(deleted) + 1} were deleted, or undone by a restore: start again from all customers, and continue from there.`,
  )
}
