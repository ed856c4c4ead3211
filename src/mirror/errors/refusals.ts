import { OrganizationLeased, UsageError } from '../../errors/errors.ts'

/*
 * Why a customer or an organization of a mirror stays as it is.
 */

/** A run has the organization. `what` is what cannot be done to it, e.g. renamed. */
export function underway(lease: { run_id: number; holder: string }, organization: string, what: string): Error {
  return new OrganizationLeased(
    `${organization}: run ${lease.run_id} (process ${lease.holder}) is mirroring it now, so it cannot be ${what}. ` +
      'Nothing was changed. Let the run finish, or stop it, then try again; a run that died is given up after a minute.',
  )
}

export function nameTaken(organization: string): Error {
  return new UsageError(
    `${organization}: is in the mirror already, and two organizations cannot become one. Nothing was changed. Choose another name, or ` +
      `let the mirror forget ${organization} first: customer-mirror organizations forget ${organization}`,
  )
}

/** `since` is in the mirror's form. */
export function retiredAlready(organization: string, since: string): Error {
  return new UsageError(`${organization}: is retired already, since ${since.slice(0, 16)} UTC. Nothing was changed.`)
}

export function unknownCustomer(organization: string): Error {
  return new UsageError(
    `${organization}: the mirror holds no customer with this id, so nothing was changed. Check the id and the organization; ` +
      `'customer-mirror query --org ${organization} --include-removed --json' lists the customers with their ids.`,
  )
}

export function notForgotten(organization: string): Error {
  return new UsageError(
    `${organization}: no forgotten customer has this id. Check the id; ids are kept as hashes, so they cannot be listed.`,
  )
}

export function holdsNothing(runId: number): Error {
  return new UsageError(`Run ${runId} holds no removals. 'customer-mirror removals list' lists the runs that do.`)
}
