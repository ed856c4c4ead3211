import type { RunStatus } from '../../../report.ts'
import { REACHED_LIMIT } from '../../rules/resume-rule.ts'
import { READ_TO_END } from '../../sql/run-conditions.ts'
import { LEASE_COLUMNS, LEASE_VERSION } from './lease.ts'
import { ROWS_AS_BYTES } from './row-numbers.ts'

/** What is stored of an organization before a run of it. */
export type Found = {
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
export const LOOK = `
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
