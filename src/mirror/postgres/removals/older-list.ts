import type { Run } from '../../../run.ts'
import { newestAbsent, unjudgedRows, type Dated, type Newest } from '../../rules/older-list-rule.ts'
import type { Session } from '../session.ts'
import { secondOf, storableTime } from '../stored-time.ts'

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

/** The newest customers are mostly the first or the last rows. */
const LOOKED_AT = 100

/** Row by row: in a table that was never analyzed the server would rather read all customers of the organization that are not removed. */
const NEWER = `
  SELECT created_at_utc FROM unnest($2::bigint[]) AS given
  CROSS JOIN LATERAL (
    SELECT created_at_utc, removed_at FROM customers WHERE organization = $1 AND row_id = given LIMIT 1
  ) AS known
  WHERE removed_at IS NULL AND created_at_utc > $3::timestamptz AND created_at_utc <= $4::timestamptz LIMIT 1`

/**
 * The creation time of the newest received customer, rejects included, or of any received customer that is newer than the newest absent
 * one. Every customer that is not absent was received.
 */
async function findNewestListed(
  session: Session,
  { organization, seen }: Run,
  absent: readonly Dated[],
  { than, last }: Newest,
): Promise<string | undefined> {
  const newer = await session.first<Created>(NEWER, organization, seen.ends(LOOKED_AT), storableTime(than), last)
  if (newer?.created_at_utc != null) return secondOf(newer.created_at_utc)
  const newest = await session.first<Created>(
    `SELECT max(created_at_utc) AS created_at_utc FROM customers
     WHERE organization = $1 AND removed_at IS NULL AND created_at_utc <= $2::timestamptz AND row_id NOT IN (SELECT unnest($3::bigint[]))`,
    organization,
    last,
    absent.map(({ rowId }) => rowId),
  )
  return newest?.created_at_utc == null ? undefined : secondOf(newest.created_at_utc)
}

type Created = { created_at_utc: string | null }
