import { identityOf } from '../../fingerprint-of-run.ts'
import type { Mirror } from '../../../store.ts'
import { findDamage } from './damage.ts'
import { findKnownElsewhere } from './known-elsewhere.ts'
import { listLastRuns } from './last-runs.ts'
import { listLatestRuns, listUnderway } from './overview.ts'
import type { Database } from '../session.ts'
import { listRejects } from './stored-rejects.ts'
import { findRun, listFreshness, listRuns, listUncountedFreshness } from './stored-runs.ts'

type Key = { key: Uint8Array }
const KEY = 'SELECT key FROM fingerprint_key'

/** The verbs that read what earlier runs left. Each reads one state of the mirror. */
export function readingVerbs(database: Database) {
  return {
    identity: () => database.read(async (session) => identityOf((await session.first<Key>(KEY))?.key)),
    listRuns: (filter) => database.read((session) => listRuns(session, filter)),
    findRun: (id) => database.read((session) => findRun(session, id)),
    listRejects: (filter) => database.read((session) => listRejects(session, filter)),
    listFreshness: () => database.read(listFreshness),
    listUncountedFreshness: () => database.read(listUncountedFreshness),
    listLastRuns: (filter?) => database.read((session) => listLastRuns(session, filter)),
    listLatestRuns: (filter) => database.read((session) => listLatestRuns(session, filter)),
    listUnderway: () => database.read(listUnderway),
    findKnownElsewhere: (organization, ids) =>
      database.read((session) => findKnownElsewhere(session, organization, ids)),
    findDamage: () => findDamage(database),
  } satisfies Partial<Mirror>
}
