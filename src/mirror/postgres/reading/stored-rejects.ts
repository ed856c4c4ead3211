import type { StoredReject } from '../../../store.ts'
import { storedRejectOf, type RejectColumns } from '../../rows/reject.ts'
import type { Session } from '../session.ts'

/** Open rejects, last seen first. */
export async function listRejects(
  session: Session,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Promise<StoredReject[]> {
  const rows = await session.all<RejectColumns>(
    `SELECT * FROM rejects WHERE resolved_at IS NULL AND ($1::text IS NULL OR organization = $1)
     ORDER BY seen_at DESC, page, position LIMIT $2`,
    organization ?? null,
    limit,
  )
  return rows.map(storedRejectOf)
}
