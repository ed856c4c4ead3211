import { underway } from '../../mirror-errors.ts'
import { requireAllRows } from '../all-rows.ts'
import { isLeased, LEASE_COLUMNS, type Lease } from '../run/lease.ts'
import type { Session } from '../session.ts'

/** The number of no run: below 0, and another one in each transaction. */
const NO_RUN = '-(pg_current_xact_id()::text::bigint)'

/**
 * Throws OrganizationLeased while a run has the organization. Otherwise the lease is this transaction's: a run that was paused has lost
 * it, and one that starts meanwhile waits, and then looks anew. A policy that may hide rows from this user is refused.
 */
export async function requireUnleased(session: Session, organization: string, what: string): Promise<void> {
  // What follows concerns all rows of the organization, or of a customer.
  await requireAllRows(session)
  const lease = await session.first<Lease>(
    `INSERT INTO leases (organization, run_id, holder, expires_at_ms) VALUES ($1, ${NO_RUN}, 'none', 0)
     ON CONFLICT (organization) DO UPDATE SET holder = leases.holder RETURNING ${LEASE_COLUMNS}`,
    organization,
  )
  if (lease !== undefined && isLeased(lease)) throw underway(lease, organization, what)
  await session.run(
    `UPDATE leases SET run_id = ${NO_RUN}, holder = 'none', expires_at_ms = 0 WHERE organization = $1`,
    organization,
  )
}
