import { createHash, randomBytes } from 'node:crypto'
import { type ErrorCode, factsOfCode } from '../../errors/error-facts.ts'
import { fingerprintWith, KEY_BYTES } from '../../model/fingerprint.ts'
import type { RunStatus } from '../../model/report.ts'
import { RowSet } from '../../model/row-set.ts'
import type { Run, Start } from '../../model/run.ts'
import { loadForgotten } from '../forget.ts'
import { greatest, sql, sqlTime, text, timeIn } from '../port/sql.ts'
import { LEFT_OUT, records, type Session, together } from '../port/store.ts'
import { withScan } from '../reading.ts'
import { findPolicy, startPrivacy } from '../privacy.ts'
import { LEASE_MS, leasedBy } from '../refusals.ts'
import { giveLease, lockLease, requireCurrent } from './lease.ts'
import { findDoubts, forgetWindows, loadList, readWindows, seenIn } from './list-memory.ts'
import { READ_TO_END } from '../schema/views.ts'
import { isFarAhead } from '../../time/moments.ts'

/** Starts a run, or continues one that was interrupted recently enough. Throws OrganizationLeased while another run has the lease. */
export async function startRun(session: Session, start: Start, place: string): Promise<Run> {
  const { organization, trigger, nowMs, monotonicMs } = start
  const clocks = { nowMs, monotonicMs: monotonicMs?.() }
  const [, lease, earlier, policy] = await together(
    requireCurrent(session, place),
    lockLease(session, organization, clocks),
    session.first(sql`SELECT 1 FROM runs WHERE organization = ${organization} AND ${text(READ_TO_END)} LIMIT 1`),
    findPolicy(session, organization),
  )
  if (lease !== undefined) throw leasedBy(lease, organization)
  // First of all: it may forget the windows to continue from, and the list.
  const privacy = await startPrivacy(session, start, policy)
  const isPartial = start.isPartial === true
  const resumable = isPartial ? undefined : await findResumable(session, start)
  const readAsOfMs = resumable?.readAsOfMs ?? nowMs
  const recorded = await session.first<{ id: number }>(sql`
    INSERT INTO runs (organization, "trigger", started_at, read_as_of, resumed_from, trusted_pages, status)
    VALUES (${organization}, ${trigger}, ${sqlTime(nowMs)}, ${sqlTime(readAsOfMs)}, ${resumable?.id}, ${isPartial ? 0 : null}, 'running')
    RETURNING id`)
  if (recorded === undefined) throw new Error('the run was not recorded')
  const { id } = recorded
  const [list, doubts, forgotten, heldRows, key] = await together(
    loadList(session, organization),
    findDoubts(session, organization),
    loadForgotten(session, organization),
    session.numbers(sql`SELECT row_id FROM held_rows WHERE organization = ${organization}`),
    fingerprintKey(session),
    closeAbandoned(session, organization, nowMs, id),
    giveLease(session, { id, organization }, clocks),
    isPartial ? LEFT_OUT : session.run(sql`DELETE FROM retired_organizations WHERE organization = ${organization}`),
    isPartial
      ? LEFT_OUT
      : resumable === undefined
        ? forgetWindows(session, organization)
        : session.run(sql`UPDATE windows SET run_id = ${id} WHERE run_id = ${resumable.id}`),
  )
  const received = seenIn(resumable === undefined ? [] : await readWindows(session, { id }))
  const readBefore = received.seen.size + received.rejectedIds.size + received.suppressed.size
  if (readBefore > 0) await session.run(sql`UPDATE runs SET read_before = ${readBefore} WHERE id = ${id}`)
  return {
    ...{ id, organization, trigger, isPartial, privacy, list, forgotten },
    ...{ readAsOfMs, readBefore, startedAtMs: nowMs, monotonicMs },
    ...{ ...received, ...doubts },
    resumedFrom: resumable?.id,
    isBaseline: earlier === undefined,
    heldRows: new Set(heldRows),
    // Under a configured key too, without which a reader of the mirror cannot try out which hidden values give a fingerprint.
    fingerprint: fingerprintWith(privacy?.policy.keyed('fingerprint', key)?.subarray(0, KEY_BYTES) ?? key),
    // The wall clock may be set back meanwhile.
    tookMs: (endMs) => Math.max(0, (monotonicMs?.() ?? endMs) - (clocks.monotonicMs ?? nowMs)),
    receivedSince: resumable === undefined ? received.seen : new RowSet(),
    pages: 0,
  }
}

/** Marks runs that never ended as interrupted, when the lease that is left was renewed last; not the one that is under way. */
export async function closeAbandoned(session: Session, organization: string, nowMs: number, underWay = 0) {
  const lease = await session.first<{ end: number }>(
    sql`SELECT expires_at_ms AS "end" FROM leases WHERE organization = ${organization} AND run_id <> 0`,
  )
  const endMs = Math.min(nowMs, (lease?.end ?? Infinity) - LEASE_MS)
  await session.run(sql`
    UPDATE runs SET status = 'interrupted', finished_at = ${greatest(sql`${sqlTime(endMs)}`, sql`started_at`)},
      reasons = '["interrupted"]', error_code = 'interrupted',
      error = 'The process ended before the run did. What it had saved is kept.'
    WHERE organization = ${organization} AND status = 'running' AND id <> ${underWay}`)
}

/** The last run that recorded windows, if it ended before its list did, and recently enough. */
async function findResumable(session: Session, { organization, nowMs, resumeWithinMs }: Start) {
  if (resumeWithinMs === undefined) return undefined
  const latest = sql`
    SELECT id, read_as_of, status, error_code FROM runs
    WHERE organization = ${organization} AND EXISTS (SELECT 1 FROM windows WHERE run_id = runs.id) ORDER BY id DESC LIMIT 1`
  const [last] = await records<{ id: number; readAsOfMs: number; status: RunStatus; errorCode?: string }>(
    session,
    latest,
  )
  if (last === undefined) return undefined
  // The end of the last run that it goes back to, itself included, and that reached a limit.
  const limit = await session.first<{ at: string | null }>(sql`
    ${withScan(last.id)}
    SELECT max(finished_at) AS at FROM runs WHERE id IN (SELECT id FROM scan) AND error_code = ${REACHED_LIMIT}`)
  const standsSinceMs = timeIn(limit?.at) ?? last.readAsOfMs
  // Far in the future it was dated by a wrong clock, and the age of the scan is unknown. A little ahead is a small step, or the clock of
  // another worker: a run that reached a limit is continued at once.
  const isOld = isFarAhead(standsSinceMs, nowMs) || nowMs - standsSinceMs > resumeWithinMs
  const mayContinue = last.status === 'running' || factsOfCode(last.errorCode ?? '').resumable
  return mayContinue && !isOld ? last : undefined
}

/** The key of this mirror's fingerprints, made anew where it was deleted: then no fingerprint matches, which does no harm. */
async function fingerprintKey(session: Session): Promise<Uint8Array> {
  const stored = await storedKey(session)
  if (stored !== undefined) return stored
  const key = randomBytes(KEY_BYTES)
  await session.run(sql`INSERT INTO fingerprint_key (id, key) VALUES (1, ${key}) ON CONFLICT DO NOTHING`)
  return (await storedKey(session)) ?? key
}

async function storedKey(session: Session): Promise<Uint8Array | undefined> {
  return (await session.first<{ key: Uint8Array }>(sql`SELECT key FROM fingerprint_key`))?.key
}

/**
 * The error code of a run that reached a limit of the configuration. `resumeWithin` counts from the start of the scan, or from the end of
 * its last such run: otherwise a scan that takes longer than `resumeWithin` would restart again and again, and never end.
 */
const REACHED_LIMIT: ErrorCode = 'max-run'

/** What tells the mirror with its key from every other; the key itself stays in it. */
export async function mirrorIdentity(session: Session): Promise<string> {
  const key = (await storedKey(session)) ?? ''
  const hash = createHash('sha256').update('identity of the mirror').update(key)
  return hash.digest('hex').slice(0, 32)
}
