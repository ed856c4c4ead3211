import type { Erased, Traces } from '../../../store.ts'
import { MirrorUnusable } from '../../../errors/errors.ts'
import { HOLDING_TABLES } from '../holding-tables.ts'
import type { Database, Session } from '../session.ts'
import { vacuum } from '../vacuum.ts'

/**
 * Has the server free what deleted rows leave in the tables of the mirror. No statement finds it from then on; whether bytes of it stay in
 * the files of the server, its WAL, its replicas or its backups cannot be seen from here, so they are `released`, and never `erased`.
 * Throws MirrorUnusable if the server does not free them.
 */
export async function eraseTraces(
  database: Database,
  { id }: Traces,
  patience: { patienceMs?: number } = {},
): Promise<Erased> {
  if (!(await vacuum(database, HOLDING_TABLES, patience))) return 'busy'
  try {
    return (await database.read((session) => isHeld(session, id))) ? 'held' : 'released'
  } catch (error) {
    // A server that has no time to read every row has released the customer all the same.
    if (error instanceof MirrorUnusable) return 'released'
    throw error
  }
}

/** Whether rows of other customers hold the id. */
async function isHeld(session: Session, id: readonly string[]): Promise<boolean> {
  const holds = ['customers', 'changes', 'rejects'].map(
    (table) => `EXISTS (SELECT FROM ${table} WHERE lower(${table}::text) LIKE ANY ($1::text[]))`,
  )
  const forms = [...new Set(id.map((form) => `%${form.toLowerCase()}%`))]
  const found = await session.first<{ is_held: boolean }>(`SELECT ${holds.join(' OR ')} AS is_held`, forms)
  return found?.is_held === true
}
