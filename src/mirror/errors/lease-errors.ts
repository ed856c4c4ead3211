import { OrganizationLeased } from '../../errors/errors.ts'

/** How long a lease lasts after its last renewal. */
export const LEASE_MS = 60_000

/** Another run has the lease. */
export function leasedBy({ run_id, holder }: { run_id: number; holder: string }, organization: string): Error {
  return new OrganizationLeased(
    `${organization}: run ${run_id} (process ${holder}) is mirroring it now. ` +
      'Let it finish, or stop it; a run that died is given up after a minute.',
  )
}

/** Another run took the lease of a run that was paused. */
export function leaseLost(organization: string): Error {
  return new OrganizationLeased(
    `${organization}: another run took over while this one was paused. What this run had saved is kept.`,
  )
}

/** The error of a run that was given up because its process ended. */
export const ABANDONED = 'The process ended before the run did. What it had saved is kept.'
