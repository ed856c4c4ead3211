import { isGone, nameOfProcess } from '../../../machine/process-name.ts'
import type { Run } from '../../../run.ts'
import { LEASE_MS, leaseLost } from '../../mirror-errors.ts'
import type { Session } from '../session.ts'
import { otherVersion, VERSION } from '../../sql/schema.ts'
import { wentBack } from './went-back.ts'

/** A lease, and whether it has expired by the clock of the server. */
export type Lease = { organization: string; run_id: number; holder: string; has_expired: boolean }

/** The clock of the server, which goes on within a transaction. */
const SERVER_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/**
 * Whether a lease has not expired. One that ends later than any lease that could be taken now was taken before the clock of the server was
 * set back, or by another server: it is not waited for. Its run renews it, or finds that it was taken over.
 */
export const LASTS = `expires_at_ms BETWEEN ${SERVER_MS} AND ${SERVER_MS} + ${2 * LEASE_MS}`

/** The columns of `Lease`. */
export const LEASE_COLUMNS = `organization, run_id, holder, NOT (${LASTS}) AS has_expired`

/** Changes whenever a lease is taken or renewed. */
export const LEASE_VERSION = `leases.run_id || ' ' || leases.expires_at_ms`

/** When a lease that is taken or renewed now ends. */
export const LEASE_END = `${SERVER_MS} + ${LEASE_MS}`

/** This process, as it was named at first: a machine may get another name. */
export const HOLDER = nameOfProcess()

/** $1 is the organization, $2 the run, $3 its process: a server that went back to an earlier state gives the number of a run once more. */
export const HELD = 'organization = $1 AND run_id = $2 AND holder = $3'

/** Whether the run of a lease may still be under way: it was renewed within LEASE_MS, and its process has not ended on this machine. */
export function isLeased({ holder, has_expired }: Pick<Lease, 'holder' | 'has_expired'>): boolean {
  return !has_expired && isGone(holder) !== true
}

const OTHER_VERSION = `SELECT version FROM mirror_schema WHERE version <> ${VERSION}`

/**
 * The fence: throws OrganizationLeased unless the run still holds its lease, or MirrorUnusable: `version` where another version
 * has changed the mirror meanwhile, `replaced` where the server has never heard of the run, or has given its number to one of another
 * process. It renews the lease, and keeps its row locked until the transaction ends. In one statement, so that it costs one round trip.
 */
export async function renewLease(session: Session, run: Pick<Run, 'id' | 'organization'>): Promise<void> {
  const renew = `UPDATE leases SET expires_at_ms = ${LEASE_END} WHERE ${HELD} AND NOT EXISTS (${OTHER_VERSION})`
  if ((await session.run(renew, run.organization, run.id, HOLDER)) > 0) return
  const other = await session.first<{ version: number }>(OTHER_VERSION)
  if (other !== undefined) throw otherVersion(run.organization, other.version)
  // Its organization may have been renamed.
  const known = await session.first(
    'SELECT FROM runs WHERE id = $1 AND NOT EXISTS (SELECT FROM leases WHERE run_id = $1)',
    run.id,
  )
  throw known === undefined ? wentBack(run.organization) : leaseLost(run.organization)
}
