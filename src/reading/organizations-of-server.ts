import { ifThere } from '../mirror/if-there.ts'
import { openDatabase } from '../mirror/postgres/opening/database.ts'
import type { Session } from '../mirror/postgres/session.ts'
import { timeIn } from '../mirror/sql-time.ts'
import type { MirroredOrganization } from './mirrored-organizations.ts'

/**
 * The organizations of the mirror in PostgreSQL at an address, in order. Throws MirrorUnusable; with `mayBeMissing` there are none where
 * there is no mirror.
 */
export async function listOrganizationsOfServer(
  address: string,
  { mayBeMissing }: { mayBeMissing: boolean },
): Promise<MirroredOrganization[]> {
  const listed = listOrganizations(address)
  return mayBeMissing ? ((await ifThere(listed)) ?? []) : await listed
}

async function listOrganizations(address: string): Promise<MirroredOrganization[]> {
  const database = await openDatabase(address, 'read')
  try {
    return await database.read(readOrganizations)
  } finally {
    await database.close()
  }
}

async function readOrganizations(session: Session): Promise<MirroredOrganization[]> {
  const found = await session.all<FreshnessRow>(
    'SELECT organization, active, removed, read_as_of, retired_at FROM freshness ORDER BY organization',
  )
  const leaving = await session.all<{ organization: string }>(
    'SELECT organization FROM unfinished_forgets WHERE organization NOT IN (SELECT organization FROM runs)',
  )
  const none = { active: 0, removed: 0, readAsOfMs: undefined, retiredAtMs: undefined }
  return [
    ...found.map(({ organization, active, removed, read_as_of, retired_at }) => ({
      ...{ organization, active, removed, isLeaving: false },
      ...{ readAsOfMs: timeIn(read_as_of), retiredAtMs: timeIn(retired_at) },
    })),
    ...leaving.map(({ organization }) => ({ organization, ...none, isLeaving: true })),
  ].toSorted((one, other) => (one.organization < other.organization ? -1 : 1))
}

type FreshnessRow = {
  organization: string
  active: number
  removed: number
  read_as_of: string | null
  retired_at: string | null
}
