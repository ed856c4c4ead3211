import { AccountingBroken, MirrorUnusable, OrganizationLeased } from '../errors/errors.ts'
import { processWords } from '../machine/process-name.ts'
import type { Standing } from '../model/mirror.ts'

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
      ? '. Let it finish, or stop it'
      : `, so it cannot be ${what}. Nothing was changed. Let the run finish, or stop it, then try again`
  return new OrganizationLeased(
    `${organization}: run ${run_id} (${processWords(holder)}${start}) is mirroring it now${refused}; a run that died is given up after a minute.`,
  )
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

/** The error of a run to which the server lost what it had saved. */
export function wentBack(organization: string): MirrorUnusable {
  return new MirrorUnusable(
    `${organization}: the server of the mirror went back to an earlier state while the run was under way, so pages that it had saved ` +
      'are gone: a standby took over without them, it crashed with synchronous_commit = off, or a backup was put back. Nothing was ' +
      'concluded from them. Sync again.',
    { code: 'replaced' },
  )
}

type Rows = { given: number; taken: number }

/** Throws AccountingBroken unless a table took every row that it was given, so that the transaction is rolled back. */
export function requireTaken({ organization }: { organization: string }, table: string, rows: Rows): void {
  if (rows.taken !== rows.given) throw notTaken(organization, table, rows)
}

/** Something in the mirror itself changes what a statement writes: a trigger, or in PostgreSQL also a rule or a policy. */
export function notTaken(organization: string, table: string, { given, taken }: Rows): AccountingBroken {
  return new AccountingBroken(
    `${organization}: ${taken} of ${given} rows could be written or deleted in table ${table}. Nothing of this step was kept. Look for a ` +
      `trigger, a rule or a policy that someone added to ${table}, drop it, then try again.`,
  )
}
