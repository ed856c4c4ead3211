import { AccountingBroken, MirrorUnusable, OrganizationLeased, UsageError } from '../errors/errors.ts'
import { processWords } from '../machine/process-name.ts'
import type { Standing } from '../model/mirror.ts'
import { addsUp, type RecordCounts } from '../model/report.ts'
import type { Run } from '../model/run.ts'

/** What comes of opening a mirror; undefined where there is none. */
export async function ifThere<Opened>(opening: Promise<Opened>): Promise<Opened | undefined> {
  try {
    return await opening
  } catch (error) {
    if (error instanceof MirrorUnusable && error.code === 'missing') return undefined
    throw error
  }
}

/** How long a lease lasts after its last renewal. */
export const LEASE_MS = 60_000

/** Who holds an organization; `since` is in the mirror's form. */
type Holding = { run_id: number; holder: string; since: string | null }

/** Another run has the organization. `what` is what cannot be done to it meanwhile, e.g. renamed; to mirror it, where that is not named. */
export function leasedBy({ run_id, holder, since }: Holding, organization: string, what?: string): Error {
  const start = since === null ? '' : `, since ${since.slice(0, 'YYYY-MM-DD HH:MM'.length)} UTC`
  const refused =
    what === undefined
      ? 'Let it finish, or stop it'
      : `so it cannot be ${what}. Nothing was changed. Let the run finish, or stop it, then try again`
  return new OrganizationLeased(
    `${organization}: run ${run_id} (${processWords(holder)}${start}) is mirroring it now${what === undefined ? '. ' : ', '}${refused}; ` +
      'a run that died is given up after a minute.',
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

/** The error of a run whose file was replaced or deleted meanwhile. */
export function replaced(file: string, found: Exclude<Standing, 'same'>): MirrorUnusable {
  const what = found === 'none' ? 'was deleted or moved away' : 'was replaced by another file'
  return new MirrorUnusable(
    `${file}: ${what} while it was open, so what this run wrote is not there. Sync again: ` +
      `${found === 'none' ? 'a new mirror is made' : 'the file that is there now is used'}. ` +
      'Next time stop everything that writes to the mirror first.',
    { code: 'replaced' },
  )
}

/** Received customers are no longer there, and no trigger noticed: they were off, rows were replaced, or one table was put back. */
export function rowsGone(organization: string): MirrorUnusable {
  return new MirrorUnusable(
    `${organization}: customers that this run received are not in the mirror. Another program deleted or replaced their rows, table ` +
      'customers alone was put back from a backup, or in PostgreSQL a policy hides rows from this user. Drop such a policy, and sync again: ' +
      'the next run reads every record, and adds what is missing.',
    { code: 'replaced' },
  )
}

/** Whether a run ended so that the list as last read refers to rows which may not be there: it is to be forgotten. */
export function isListInDoubt(error: { code: string } | undefined): boolean {
  return error?.code === 'replaced'
}

/** Throws MirrorUnusable `replaced` unless the server still has every page: row numbers that the run knows may be those of others. */
export function requirePages(stored: number | undefined, saved: number, organization: string): void {
  if (stored !== saved) throw wentBack(organization)
}

/** The error of a run to which the server lost what it had saved. */
export function wentBack(organization: string): MirrorUnusable {
  return new MirrorUnusable(
    `${organization}: the server of the mirror went back to an earlier state while the run was under way, so pages that it had saved ` +
      'are gone: a standby took over without them, it crashed with synchronous_commit = off, or a backup was put back. Nothing was ' +
      'concluded from them. Sync again.',
    { code: 'replaced' },
  )
}

/** Throws AccountingBroken unless the numbers of a run add up, as stored and as counted. */
export function requireSum(
  { organization, id, records }: Pick<Run, 'organization' | 'id' | 'records'>,
  stored: RecordCounts | undefined,
): void {
  if (stored !== undefined && addsUp(stored) && addsUp(records)) return
  throw new AccountingBroken(
    `${organization}: the numbers of run ${id} do not add up. What it saved is kept, but it does not count as ` +
      'complete. This is a defect of Customer Mirror; please report it.',
  )
}

/** Throws AccountingBroken unless a table took every row that it was given, so that the transaction is rolled back. */
export function requireTaken(
  { organization }: { organization: string },
  table: string,
  { given, taken }: { given: number; taken: number },
): void {
  if (taken !== given) throw notTaken(organization, table, { given, taken })
}

/** Something in the mirror itself changes what a statement writes: a trigger, or in PostgreSQL also a rule or a policy. */
export function notTaken(
  organization: string,
  table: string,
  { given, taken }: { given: number; taken: number },
): AccountingBroken {
  return new AccountingBroken(
    `${organization}: ${taken} of ${given} rows could be written or deleted in table ${table}. Nothing of this step was kept. Look for a ` +
      `trigger, a rule or a policy that someone added to ${table}, drop it, then try again.`,
  )
}
