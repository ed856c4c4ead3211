import { hostname } from 'node:os'
import { OrganizationLeased } from '../../errors/errors.ts'
import { BOOT_NAME, isGone, nameOfProcess } from '../../machine/process-name.ts'
import type { Run } from '../../model/run.ts'
import { LEASE_MS, leasedBy, notTaken, wentBack } from '../refusals.ts'
import { either, FOR_UPDATE, greatest, SERVER_MS, sql, type Sql, sqlTime } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import { otherVersion, VERSION } from '../schema/schema.ts'

/** The moment by the wall clock, and by the monotonic clock if there is one. Where the database has a clock, that one decides. */
export type Clocks = { nowMs: number; monotonicMs: number | undefined }

type Lease = {
  organization: string
  run_id: number
  holder: string
  since: string | null
  expires_at_ms: number
  boot: string | null
  expires_monotonic_ms: number | null
  /** The clock of the server; null where the clocks of this machine decide. */
  server_ms: number | null
}

/** This process, as it was named at first, with the start of its machine: two machines that share a server may have one name. */
const HOLDER = `${nameOfProcess()}#${BOOT_NAME ?? ''}`

const COLUMNS = sql`organization, run_id, holder, (SELECT started_at FROM runs WHERE runs.id = run_id) AS since, expires_at_ms, boot, expires_monotonic_ms, ${SERVER_MS} AS server_ms`

/** The lease of the organization, locked for this transaction; undefined if no run holds it, or has lost it by time or by its end. */
export async function lockLease(session: Session, organization: string, clocks: Clocks): Promise<Lease | undefined> {
  const lease = await session.first<Lease>(sql`
    INSERT INTO leases (organization, run_id, holder, expires_at_ms) VALUES (${organization}, 0, '', 0)
    ON CONFLICT (organization) DO UPDATE SET holder = leases.holder RETURNING ${COLUMNS}`)
  return lease !== undefined && isHeld(lease, clocks) ? lease : undefined
}

/** Gives the lease, which the transaction has locked, to a run. */
export async function giveLease(session: Session, run: Pick<Run, 'id' | 'organization'>, clocks: Clocks) {
  await session.run(sql`
    UPDATE leases SET run_id = ${run.id}, holder = ${HOLDER}, ${renewed(session, clocks)} WHERE organization = ${run.organization}`)
}

/** From now on, by the clock of the server where there is one. */
function renewed(session: Session, { nowMs, monotonicMs }: Clocks): Sql {
  const [boot, endMs] = monotonicMs === undefined ? [null, null] : [thisBoot(), monotonicMs + LEASE_MS]
  return session.kind === 'postgres'
    ? sql`expires_at_ms = ${SERVER_MS} + ${LEASE_MS}::bigint, boot = NULL, expires_monotonic_ms = NULL`
    : sql`expires_at_ms = ${nowMs + LEASE_MS}, boot = ${boot}, expires_monotonic_ms = ${endMs}`
}

/** Whether no other version has changed the mirror since it was opened; of a file, each transaction looks that up. */
const IS_CURRENT = either('true', `NOT EXISTS (SELECT FROM mirror_schema WHERE version <> ${VERSION})`)

/** The fence of every write of a run: throws OrganizationLeased unless it still holds its lease, which is renewed, and locked until the end. */
export async function renewLease(session: Session, run: Run, nowMs: number) {
  const taken = await session.run(sql`
    UPDATE leases SET ${renewed(session, { nowMs, monotonicMs: run.monotonicMs?.() })}
    WHERE organization = ${run.organization} AND run_id = ${run.id} AND holder = ${HOLDER} AND ${IS_CURRENT}`)
  if (taken > 0) return
  await requireCurrent(session, run.organization)
  const isKnown = await session.first(sql`
    SELECT 1 FROM runs WHERE id = ${run.id} AND NOT EXISTS (SELECT 1 FROM leases WHERE run_id = ${run.id})`)
  if (isKnown === undefined && session.kind === 'postgres') throw wentBack(run.organization)
  throw new OrganizationLeased(
    `${run.organization}: another run took over while this one was paused. What this run had saved is kept.`,
  )
}

/** Throws MirrorUnusable `version` where another version has changed the mirror; of a file, each transaction looks that up. */
export async function requireCurrent(session: Session, place: string) {
  if (session.kind === 'sqlite') return
  const found = await session.first<{ version: number }>(sql`SELECT version FROM mirror_schema`)
  if (found?.version !== VERSION) throw otherVersion(place, found?.version ?? 0)
}

/** Releases the lease, if the run still holds it; whether it did. */
export async function releaseLease(session: Session, run: Run): Promise<boolean> {
  const own = sql`organization = ${run.organization} AND run_id = ${run.id} AND holder = ${HOLDER}`
  return (await session.run(sql`DELETE FROM leases WHERE ${own}`)) > 0
}

/** Throws OrganizationLeased while a run has the organization; otherwise a run that was paused has lost it. `what` it cannot be, e.g. renamed. */
export async function requireUnleased(session: Session, organization: string, what: string, clocks: Clocks) {
  await requireAllRows(session)
  const lease = await lockLease(session, organization, clocks)
  if (lease !== undefined) throw leasedBy(lease, organization, what)
  await session.run(sql`DELETE FROM leases WHERE organization = ${organization}`)
}

/** Throws OrganizationLeased while a run is under way. `what`: what cannot be done to the mirror meanwhile, such as `moved`. */
export async function requireNoLease(session: Session, what: string, clocks: Clocks) {
  await requireAllRows(session)
  const [held] = await heldLeases(session, clocks)
  if (held !== undefined) throw leasedBy(held, held.organization, what)
}

/** Has a server refuse, in this transaction, statements on tables of which a policy may hide rows from this user. */
export async function requireAllRows(session: Session) {
  if (session.kind === 'postgres') await session.run(sql`SET LOCAL row_security = off`)
}

/** Locks the leases of some organizations, so that a run that saves at this moment waits, or is waited for. */
export async function lockLeasesOf(session: Session, runId: number) {
  await session.all(sql`
    SELECT 1 FROM leases WHERE organization IN (SELECT organization FROM held_rows WHERE run_id = ${runId}) ${FOR_UPDATE}`)
}

/** The leases that runs may still hold, by organization. */
export async function heldLeases(session: Session, clocks: Clocks): Promise<Lease[]> {
  const leases = await session.all<Lease>(sql`SELECT ${COLUMNS} FROM leases ORDER BY organization`)
  return leases.filter((lease) => isHeld(lease, clocks))
}

function isHeld(lease: Lease, clocks: Clocks): boolean {
  const { holder, server_ms: nowMs } = lease
  const now = nowMs === null ? clocks : { nowMs, monotonicMs: undefined }
  // A file is of one machine, whenever that was started.
  const isOfThisMachine = nowMs === null || (holder.split('#')[3] ?? '') === (BOOT_NAME ?? '')
  return !hasExpired(lease, now) && !(isOfThisMachine && isGone(holder) === true)
}

/** One that seems to last much longer than any lease was taken before a clock was set back, and is not waited for. */
function hasExpired(lease: Lease, { nowMs, monotonicMs }: Clocks): boolean {
  const { boot, expires_at_ms: wallEndMs, expires_monotonic_ms: endMs } = lease
  const isByWall = endMs === null || monotonicMs === undefined || boot !== thisBoot()
  const leftMs = isByWall ? wallEndMs - nowMs : endMs - monotonicMs
  return leftMs <= 0 || leftMs > 2 * LEASE_MS
}

/** Where the system does not name its start, processes of one machine are taken to read the same clock. */
function thisBoot(): string {
  return BOOT_NAME ?? hostname()
}

const taken = new WeakMap<Session, Promise<string>>()

/** The `updated_at` of every row that this transaction writes: now, and later than every stamp before, as `last_update` keeps them. */
export function updateStamp(session: Session, nowMs: number): Promise<string> {
  let stamp = taken.get(session)
  if (stamp === undefined) taken.set(session, (stamp = takeStamp(session, sqlTime(nowMs))))
  return stamp
}

const NEXT = either(
  `strftime('%Y-%m-%d %H:%M:%f', last_update.updated_at, '+0.001 seconds')`,
  `last_update.updated_at + interval '1 millisecond'`,
)

async function takeStamp(session: Session, now: string): Promise<string> {
  const last = await session.first<{ updated_at: string }>(sql`
    INSERT INTO last_update (id, updated_at) VALUES (1, ${now})
    ON CONFLICT (id) DO UPDATE SET updated_at = ${greatest(sql`excluded.updated_at`, sql`${NEXT}`)} RETURNING updated_at`)
  // A trigger kept it from being written.
  if (last === undefined) throw notTaken('the mirror', 'last_update', { given: 1, taken: 0 })
  return last.updated_at
}
