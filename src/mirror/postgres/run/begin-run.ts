import type { Start } from '../../../run.ts'
import { ABANDONED } from '../../mirror-errors.ts'
import { sqlTime } from '../../sql/sql-time.ts'
import { LEASE_END, LEASE_VERSION } from './lease.ts'
import { SERIALIZATION_FAILURE } from '../connection/postgres-errors.ts'
import type { Session } from '../session.ts'
import { FORGET_WINDOWS } from './windows.ts'

/** What was decided about a run before it began. */
export type Beginning = {
  holder: string
  /** The run that it continues. */
  from: number | undefined
  readAsOfMs: number
  /** The version of the lease that it takes over. */
  replaced: string | undefined
}

/**
 * Records a run and takes the lease of its organization, closes runs that were abandoned, and takes over the windows of the run that it
 * continues, or forgets those that nothing continues. One statement. If another run was faster, the transaction is repeated.
 */
export async function beginRun(
  session: Session,
  { organization, trigger, nowMs, isQuick }: Start,
  { holder, from, readAsOfMs, replaced }: Beginning,
): Promise<number> {
  const begun = await session.first<{ id: number; is_leased: boolean }>(
    beginning(isQuick === true, from !== undefined),
    ...[organization, sqlTime(nowMs), trigger, sqlTime(readAsOfMs), from ?? null, isQuick === true ? 0 : null],
    ...[holder, replaced ?? null],
  )
  if (begun?.is_leased === true) return begun.id
  throw Object.assign(new Error(`another run of ${organization} was faster`), { code: SERIALIZATION_FAILURE })
}

/** Every part sees the tables as they were before: the run itself is not among those that were abandoned. */
function beginning(isQuick: boolean, continues: boolean): string {
  return `
    WITH begun AS (
      INSERT INTO runs (organization, trigger, started_at, read_as_of, resumed_from, trusted_pages, status)
      VALUES ($1, $3, $2::timestamptz, $4::timestamptz, $5::bigint, $6::bigint, 'running') RETURNING id
    ),
    leased AS (
      INSERT INTO leases (organization, run_id, holder, expires_at_ms) SELECT $1, id, $7, ${LEASE_END} FROM begun
      ON CONFLICT (organization) DO UPDATE SET run_id = excluded.run_id, holder = excluded.holder,
        expires_at_ms = excluded.expires_at_ms WHERE ${LEASE_VERSION} = $8
      RETURNING run_id
    ),
    closed AS (${CLOSE_ABANDONED})
    ${isQuick ? '' : `, mirrored AS (DELETE FROM retired_organizations WHERE organization = $1), ${continues ? INHERIT : FORGET}`}
    SELECT id, EXISTS (SELECT FROM leased) AS is_leased FROM begun`
}

const INHERIT = `inherited AS (UPDATE windows SET run_id = begun.id FROM begun WHERE windows.run_id = $5::bigint)`

const FORGET = `forgotten AS (${FORGET_WINDOWS})`

/** Ends the runs of the organization $1 that were left running, at the moment $2. */
export const CLOSE_ABANDONED = `UPDATE runs SET status = 'interrupted', finished_at = greatest($2::timestamptz, started_at),
  reasons = '["interrupted"]', error_code = 'interrupted', error = '${ABANDONED}'
  WHERE organization = $1 AND status = 'running'`
