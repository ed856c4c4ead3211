import { OrganizationHeld } from '../errors.ts'
import type { Connection } from './database.ts'
import { isGone } from './holder.ts'
import { statement } from './statement.ts'

/** How long an organization stays held after its run was last heard of. */
export const LEASE_MS = 60_000

type Lease = { run_id: number; holder: string; expires_at_ms: number; edits: number }

/**
 * Takes the organization for a run that is about to start: when nobody holds it, when the holder was not heard of for
 * LEASE_MS, or when the holder was a process of this machine that is gone. Throws OrganizationHeld otherwise.
 */
export function takeLease(db: Connection, organization: string, runId: number, holder: string, nowMs: number): void {
  const lease = statement<[string], Lease>(db, 'SELECT * FROM leases WHERE organization = ?').get(organization)
  if (lease !== undefined && lease.expires_at_ms > nowMs && !isGone(lease.holder)) {
    throw new OrganizationHeld(
      `${organization}: run ${lease.run_id} (process ${lease.holder}) is mirroring it now. ` +
        'Let it finish, or stop it; a run that died is given up after a minute.',
      { code: 'held' },
    )
  }
  statement(db, 'REPLACE INTO leases (organization, run_id, holder, expires_at_ms) VALUES (?, ?, ?, ?)').run(
    organization,
    runId,
    holder,
    nowMs + LEASE_MS,
  )
}

/**
 * Throws OrganizationHeld unless the run still holds its organization; renews the lease when a third of it is used. Tells how
 * often somebody has edited the organization's customers by hand since it was taken.
 */
export function renewLease(
  db: Connection,
  run: { id: number; organization: string },
  nowMs: number,
): Pick<Lease, 'edits'> {
  const find = 'SELECT * FROM leases WHERE organization = ? AND run_id = ?'
  const lease = statement<[string, number], Lease>(db, find).get(run.organization, run.id)
  if (lease === undefined) {
    throw new OrganizationHeld(
      `${run.organization}: another run took over while this one was paused. What this run had saved is kept.`,
      { code: 'lease-lost' },
    )
  }
  if (lease.expires_at_ms - nowMs < (LEASE_MS * 2) / 3) {
    statement(db, 'UPDATE leases SET expires_at_ms = ? WHERE organization = ?').run(nowMs + LEASE_MS, run.organization)
  }
  return lease
}

/** Gives the organization back, if the run still holds it; tells whether it did. */
export function releaseLease(db: Connection, run: { id: number; organization: string }): boolean {
  return (
    statement(db, 'DELETE FROM leases WHERE organization = ? AND run_id = ?').run(run.organization, run.id).changes ===
    1
  )
}
