import type { Run } from '../../model/run.ts'
import { isIn, moment } from '../port/fragments.ts'
import { sql, sqlTime } from '../port/sql.ts'
import type { Session } from '../port/store.ts'

/** The rows of those absent customers whose absence counts for nothing, since the list may be older than the last one read. */
export async function findUnjudged(
  session: Session,
  run: Run,
  absent: readonly Dated[],
  serviceMs: number | undefined,
): Promise<Set<number>> {
  const newest = newestAbsent(absent, run, serviceMs)
  if (newest === undefined) return new Set()
  return unjudgedRows(absent, newest, await findNewestListed(session, run, absent, newest))
}

/** The creation time of the newest received customer. Who is not absent was received. */
async function findNewestListed(session: Session, { organization }: Run, absent: readonly Dated[], { last }: Newest) {
  const isAbsent = isIn(
    'row_id',
    absent.map(({ rowId }) => rowId),
  )
  const newest = await session.first<Created>(sql`
    SELECT max(created_at_utc) AS created_at_utc FROM customers
    WHERE organization = ${organization} AND removed_at IS NULL AND created_at_utc <= ${moment(last)} AND NOT (${isAbsent})`)
  return newest?.created_at_utc?.slice(0, 'YYYY-MM-DD HH:MM:SS'.length)
}

type Created = { created_at_utc: string | null }

/** An absent customer, with the time of creation as `YYYY-MM-DD HH:MM:SS`. */
export type Dated = { rowId: number; createdAtUtc: string | null }

/** A creation time further in the future than any clock is wrong, and is ignored here. */
const AHEAD_MS = 24 * 3_600_000
/** Times are compared as texts, which later years have with a sign. */
const LATEST_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

type Newest = {
  than: string
  last: string
}

/** The creation times to compare with, if any can be right. The later of the two clocks decides: that of a machine may be days behind. */
function newestAbsent(
  absent: readonly Dated[],
  { startedAtMs }: Pick<Run, 'startedAtMs'>,
  serviceMs: number | undefined,
): Newest | undefined {
  const lastMs = Math.min(Math.max(startedAtMs, serviceMs ?? 0) + AHEAD_MS, LATEST_MS)
  const last = sqlTime(lastMs).slice(0, 'YYYY-MM-DD HH:MM:SS'.length)
  const than = absent.reduce(
    (latest, { createdAtUtc: at }) => (at !== null && at <= last && at > latest ? at : latest),
    '',
  )
  return than === '' ? undefined : { than, last }
}

/**
 * The rows of those absent customers whose absence counts for nothing, because no customer is listed that was created later: a
 * list that is older than the last one read lacks exactly the newest customers. A list goes forward, so as soon as it shows a
 * newer customer than they are, their absence is real. Creation times are compared by the second. An absent customer who
 * shares the second of the newest one listed is judged like those created after it, where there are any; where there are none,
 * the list is not taken for an older one: a whole import may have been created in one second. No customer is left unjudged
 * where creation times cannot be read. `listed`: the creation time of the newest received customer.
 */
function unjudgedRows(absent: readonly Dated[], { than, last }: Newest, listed: string | undefined): Set<number> {
  if (listed === undefined || listed >= than) return new Set()
  return new Set(
    absent.flatMap(({ rowId, createdAtUtc: at }) => (at !== null && at <= last && at >= listed ? [rowId] : [])),
  )
}
