import type { Erased } from '../../../store.ts'
import { HOLDING_TABLES } from '../holding-tables.ts'
import type { Database } from '../session.ts'
import { vacuum } from '../vacuum.ts'

/**
 * Has the server free what deleted rows leave in the tables of the mirror. No statement finds it from then on; whether bytes of it stay in
 * the files of the server, its WAL, its replicas or its backups cannot be seen from here, so they are `released`, and never `erased`.
 */
export async function eraseTraces(database: Database): Promise<Erased> {
  return (await vacuum(database, HOLDING_TABLES)) ? 'released' : 'busy'
}
