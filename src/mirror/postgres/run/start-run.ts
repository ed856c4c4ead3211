import { forgottenBy } from '../../../privacy/forgotten.ts'
import type { Run, Start } from '../../../run.ts'
import { fingerprintOfRun } from '../../fingerprint-of-run.ts'
import { leasedBy } from '../../mirror-errors.ts'
import type { PolicyColumns } from '../../rules/policy-of-rows.ts'
import { mayContinue, type RunWithWindows, REACHED_LIMIT } from '../../rules/resume-rule.ts'
import { otherVersion, VERSION } from '../../sql/schema.ts'
import { fromSqlTime } from '../../sql/sql-time.ts'
import { countSeen, startedRun } from '../../started-run.ts'
import { seenIn } from '../../sql/stored-windows.ts'
import { beginRun } from './begin-run.ts'
import { makeFingerprintKey } from '../fingerprint-key.ts'
import { findDoubts } from './doubted-rows.ts'
import { isLeased, LEASE_COLUMNS, LEASE_VERSION } from './lease.ts'
import { loadList } from './lists.ts'
import { startPrivacy } from '../privacy/start-privacy.ts'
import { rowsInBytes, ROWS_AS_BYTES } from './row-numbers.ts'
import type { Session } from '../session.ts'
import { readWindows } from './windows.ts'
import type { RunStatus } from '../../../report.ts'
import { READ_TO_END } from '../../sql/run-conditions.ts'

/**
 * Starts a run, after marking abandoned runs as interrupted. Continues the last run if it was interrupted recently enough. Throws
 * OrganizationLeased while another run has the lease, and MirrorUnusable where another version has changed the mirror since it was
 * opened. The caller holds the transaction. Few statements, whatever there is to do: each is a round trip.
 */
export async function startRun(session: Session, start: Start, { holder, address }: Starting): Promise<Run> {
  const { organization, nowMs } = start
  const found = await look(session, organization)
  if (found.version !== VERSION) throw otherVersion(address, found.version ?? 0)
  // First: it may forget the windows to continue from, and the list.
  const { privacy, isEmptied } = await startPrivacy(session, start, found.policy)
  const resumable = start.isQuick === true || isEmptied ? undefined : resumableOf(found, start)
  const readAsOfMs = resumable === undefined ? nowMs : fromSqlTime(resumable.read_as_of)
  const id = await beginRun(session, start, {
    holder,
    from: resumable?.id,
    readAsOfMs,
    replaced: found.lease_version ?? undefined,
  })
  const list = await loadList(session, organization)
  const doubts = await findDoubts(session, organization)
  const windows = resumable === undefined ? [] : await readWindows(session, { id, list })
  const received = seenIn(windows)
  const readBefore = countSeen(received)
  if (readBefore > 0) await session.run('UPDATE runs SET read_before = $2 WHERE id = $1', id, readBefore)
  return startedRun(start, {
    ...{ id, readAsOfMs, resumedFrom: resumable?.id, readBefore, isBaseline: !found.has_baseline },
    ...received,
    ...doubts,
    forgotten: forgottenBy(organization, found.forgotten_key, new Map(found.forgotten)),
    heldRows: new Set(rowsInBytes(found.held_rows)),
    list,
    fingerprint: fingerprintOfRun(found.fingerprint_key ?? (await newFingerprintKey(session)), privacy),
    privacy,
  })
}

/** Who starts the run, and where the mirror is, for messages. */
type Starting = { holder: string; address: string }

/** What is stored of the organization; throws OrganizationLeased while a run has its lease. */
async function look(session: Session, organization: string) {
  const found = await session.first<Found>(LOOK, organization)
  if (found === undefined) throw new Error('the server did not answer')
  const { lease_run_id: run_id, lease_holder: holder, lease_has_expired } = found
  if (run_id !== null && holder !== null && isLeased({ holder, has_expired: lease_has_expired === true }))
    throw leasedBy({ run_id, holder }, organization)
  const policy: PolicyColumns | undefined = found.policy === null ? undefined : JSON.parse(found.policy)
  const forgotten: [hash: string, number: number][] = JSON.parse(found.forgotten ?? '[]')
  return { ...found, policy, forgotten }
}

/** The last run that recorded windows, if it ended before its list did, and recently enough. */
function resumableOf(found: LastFound, start: Start): RunWithWindows | undefined {
  const { last_id: id, last_read_as_of: read_as_of, last_status: status, last_error_code: error_code } = found
  if (id === null || read_as_of === null || status === null) return undefined
  const last = { id, read_as_of, status, error_code }
  return mayContinue(last, found.last_limit_at, start) ? last : undefined
}

type LastFound = Pick<Found, 'last_id' | 'last_read_as_of' | 'last_status' | 'last_error_code' | 'last_limit_at'>

/** Another key, if the stored one was deleted: fingerprints under the old one no longer match, which does no harm. */
async function newFingerprintKey(session: Session): Promise<Uint8Array> {
  const key = await makeFingerprintKey(session)
  // Another run may have been faster.
  const stored = await session.first<{ key: Uint8Array }>('SELECT key FROM fingerprint_key')
  return stored?.key ?? key
}

/** What is stored of an organization before a run of it. */
type Found = {
  /** The version of the mirror. */
  version: number | null
  /** Whether the list was ever read to its end. */
  has_baseline: boolean
  /** Its lease. */
  lease_run_id: number | null
  lease_holder: string | null
  lease_has_expired: boolean | null
  lease_version: string | null
  /** Its row of `privacy_policies`, as JSON. */
  policy: string | null
  fingerprint_key: Buffer | null
  forgotten_key: Buffer | null
  /** JSON: `[hash, number]` of each forgotten customer. */
  forgotten: string | null
  /** Rows whose removal is held back. */
  held_rows: Buffer | null
  /** The last run that recorded windows, and the end of the last run it goes back to that reached a limit. */
  last_id: number | null
  last_read_as_of: string | null
  last_status: RunStatus | null
  last_error_code: string | null
  last_limit_at: string | null
}

/** One row of `Found`, in one statement. */
const LOOK = `
  WITH RECURSIVE last AS (
    SELECT id, read_as_of, status, error_code, resumed_from, finished_at FROM runs
    WHERE organization = $1 AND EXISTS (SELECT FROM windows WHERE run_id = runs.id) ORDER BY id DESC LIMIT 1
  ),
  chain (id, resumed_from, error_code, finished_at) AS (
    SELECT id, resumed_from, error_code, finished_at FROM last
    UNION ALL
    SELECT runs.id, runs.resumed_from, runs.error_code, runs.finished_at
    FROM runs JOIN chain ON runs.id = chain.resumed_from
  ),
  lease AS (SELECT ${LEASE_COLUMNS}, ${LEASE_VERSION} AS version FROM leases WHERE organization = $1)
  SELECT (SELECT version FROM mirror_schema) AS version,
    EXISTS (SELECT FROM runs WHERE organization = $1 AND ${READ_TO_END}) AS has_baseline,
    lease.run_id AS lease_run_id, lease.holder AS lease_holder, lease.has_expired AS lease_has_expired,
    lease.version AS lease_version,
    (SELECT row_to_json(privacy_policies) FROM privacy_policies WHERE organization = $1) AS policy,
    (SELECT key FROM fingerprint_key) AS fingerprint_key,
    (SELECT key FROM forgotten_keys WHERE organization = $1) AS forgotten_key,
    (SELECT json_agg(json_build_array(hash, number)) FROM forgotten WHERE organization = $1) AS forgotten,
    (SELECT ${ROWS_AS_BYTES} FROM held_removals WHERE organization = $1) AS held_rows,
    last.id AS last_id, last.read_as_of AS last_read_as_of, last.status AS last_status,
    last.error_code AS last_error_code,
    (SELECT max(finished_at) FROM chain WHERE error_code IN ${REACHED_LIMIT}) AS last_limit_at
  FROM (SELECT 1) AS one LEFT JOIN lease ON true LEFT JOIN last ON true`
