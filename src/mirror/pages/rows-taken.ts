import { AccountingBroken } from '../../errors/errors.ts'

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
