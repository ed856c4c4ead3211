import type { Session } from './session.ts'

/** Has the server refuse, in this transaction, statements on tables of which a policy may hide rows from this user. */
export async function requireAllRows(session: Session): Promise<void> {
  await session.run('SET LOCAL row_security = off')
}
