import { hostname } from 'node:os'
import { bootName, isGone } from '../../../machine/process-name.ts'
import { LEASE_MS, leasedBy, leaseLost } from '../../mirror-errors.ts'
import type { Connection } from '../opening/database.ts'
import { statement } from '../statement.ts'

type Lease = {
  run_id: number
  holder: string
  /** By the wall clock. */
  expires_at_ms: number
  /** By the monotonic clock that counts from `boot`; null if the run had none. */
  boot: string | null
  expires_monotonic_ms: number | null
}

/** The moment by the wall clock, and by the monotonic clock if the run has one: the wall clock may be set at any time. */
export type Clocks = { nowMs: number; monotonicMs: number | undefined }

/**
 * Takes the lease of the organization for a run that is about to start: when it is free, when its holder has not renewed it for
 * LEASE_MS, or when the holder was a process of this machine that has ended. Throws OrganizationLeased otherwise.
 */
export function takeLease(
  db: Connection,
  { organization, id }: { organization: string; id: number },
  holder: string,
  clocks: Clocks,
): void {
  const lease = findLease(db, organization, clocks)
  if (lease !== undefined) throw leasedBy(lease, organization)
  statement(
    db,
    `REPLACE INTO leases (organization, run_id, holder, expires_at_ms, boot, expires_monotonic_ms)
     VALUES (?, ?, ?, ?, ?, ?)`,
  ).run(organization, id, holder, ...expiries(clocks))
}

/** The first lease of a run that may still be under way; undefined if there is none. */
export function findHeldLease(db: Connection, clocks: Clocks): { organization: string; runId: number } | undefined {
  const leases = db.prepare<[], Lease & { organization: string }>('SELECT * FROM leases ORDER BY organization').all()
  const held = leases.find((lease) => isLeased(lease, clocks))
  return held && { organization: held.organization, runId: held.run_id }
}

/** The lease of the organization that a run still holds; undefined if it is free. */
export function findLease(db: Connection, organization: string, clocks: Clocks): Lease | undefined {
  const lease = statement<[string], Lease>(db, 'SELECT * FROM leases WHERE organization = ?').get(organization)
  return lease !== undefined && isLeased(lease, clocks) ? lease : undefined
}

/** Whether the run of a lease may still be under way: it was renewed within LEASE_MS, and its process has not ended on this machine. */
function isLeased(lease: Lease, clocks: Clocks): boolean {
  return !hasExpired(lease, clocks) && isGone(lease.holder) !== true
}

/** Throws OrganizationLeased unless the run still holds its lease; renews the lease when a third of it is used. */
export function renewLease(
  db: Connection,
  run: { id: number; organization: string; monotonicMs?: (() => number) | undefined },
  nowMs: number,
): void {
  const find = 'SELECT * FROM leases WHERE organization = ? AND run_id = ?'
  const lease = statement<[string, number], Lease>(db, find).get(run.organization, run.id)
  if (lease === undefined) throw leaseLost(run.organization)
  const clocks = { nowMs, monotonicMs: run.monotonicMs?.() }
  if (isWorn(lease.expires_at_ms - nowMs) || isWorn(leftByMonotonic(lease, clocks) ?? LEASE_MS)) {
    statement(db, 'UPDATE leases SET expires_at_ms = ?, boot = ?, expires_monotonic_ms = ? WHERE organization = ?').run(
      ...expiries(clocks),
      run.organization,
    )
  }
}

/** Whether a third of the lease is used, or more is left than a whole lease: then the clock was set back. */
function isWorn(leftMs: number): boolean {
  return leftMs < (LEASE_MS * 2) / 3 || leftMs > LEASE_MS
}

/** The monotonic clock decides if the holder uses the same one. */
function hasExpired(lease: Lease, clocks: Clocks): boolean {
  const leftMs = leftByMonotonic(lease, clocks)
  if (leftMs === undefined) return hasExpiredByWall(lease.expires_at_ms - clocks.nowMs)
  // No lease lasts longer than LEASE_MS: one that seems to is from before a restart of the machine.
  return leftMs <= 0 || leftMs > LEASE_MS
}

/**
 * One that seems to last much longer than any lease was taken before the wall clock was set back, and is not waited for: its run renews it,
 * or finds that it was taken over.
 */
function hasExpiredByWall(leftMs: number): boolean {
  return leftMs <= 0 || leftMs > 2 * LEASE_MS
}

function leftByMonotonic({ boot, expires_monotonic_ms: endMs }: Lease, { monotonicMs }: Clocks): number | undefined {
  if (endMs === null || monotonicMs === undefined || boot !== thisBoot()) return undefined
  return endMs - monotonicMs
}

function expiries({ nowMs, monotonicMs }: Clocks): [number, string | null, number | null] {
  if (monotonicMs === undefined) return [nowMs + LEASE_MS, null, null]
  return [nowMs + LEASE_MS, thisBoot(), monotonicMs + LEASE_MS]
}

/** Releases the lease, if the run still holds it; whether it did. */
export function releaseLease(db: Connection, run: { id: number; organization: string }): boolean {
  return (
    statement(db, 'DELETE FROM leases WHERE organization = ? AND run_id = ?').run(run.organization, run.id).changes ===
    1
  )
}

/** Where the system does not name its start, processes of one machine are taken to read the same clock. */
function thisBoot(): string {
  return bootName() ?? hostname()
}
