import type { Retired } from '../../../organizations.ts'
import { retiredAlready } from '../../mirror-errors.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { CLOSE_ABANDONED } from '../run/begin-run.ts'
import type { Session } from '../session.ts'
import { updateStamp } from '../update-stamp.ts'
import { changeUnnoticed, deleteRows, forgetReading } from './organization-rows.ts'
import { requireUnleased } from './unleased.ts'

/**
 * Marks every active customer of the organization as removed, with a change each, put down to its last run, and notes since when
 * it is retired. Its next run ends that. The caller holds the transaction.
 */
export async function retireOrganization(session: Session, organization: string, nowMs: number): Promise<Retired> {
  await requireUnleased(session, organization, 'retired')
  const now = sqlTime(nowMs)
  const find = 'SELECT retired_at FROM retired_organizations WHERE organization = $1'
  const before = await session.first<{ retired_at: string }>(find, organization)
  if (before !== undefined) throw retiredAlready(organization, before.retired_at)
  await session.run(
    'INSERT INTO retired_organizations (organization, retired_at) VALUES ($1, $2::timestamptz)',
    organization,
    now,
  )
  await session.run(CLOSE_ABANDONED, organization, now)
  await deleteRows(session, ['leases', 'held_removals', 'absences'], organization)
  await session.run(
    'UPDATE rejects SET resolved_at = $2::timestamptz WHERE organization = $1 AND resolved_at IS NULL',
    organization,
    now,
  )
  await changeUnnoticed(session)
  const removed = await removeAll(session, { organization, now, stamp: await updateStamp(session, nowMs) })
  // Row numbers there refer to customers that are no longer expected in the list.
  await forgetReading(session, organization)
  return { removed }
}

/** Returns the number of customers that were active. */
async function removeAll(
  session: Session,
  { organization, now, stamp }: { organization: string; now: string; stamp: string },
): Promise<number> {
  const last = '(SELECT max(id) FROM runs WHERE organization = $1)'
  await session.run(
    `INSERT INTO changes (run_id, organization, id, change, at, missing_since)
     SELECT ${last}, organization, id, 'removed', $2::timestamptz, missing_since FROM customers
     WHERE organization = $1 AND removed_at IS NULL ORDER BY row_id`,
    organization,
    now,
  )
  return session.run(
    `UPDATE customers SET removed_at = $2::timestamptz, last_run_id = ${last}, updated_at = $3::timestamptz
     WHERE organization = $1 AND removed_at IS NULL`,
    organization,
    now,
    stamp,
  )
}
