import { MirrorUnusable } from '../../errors/errors.ts'

/**
 * The error of a run whose received customers are no longer in the mirror, although nothing that the mirror notices deleted them: triggers
 * were off or dropped, rows were replaced, or one table was put back from a backup.
 */
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
