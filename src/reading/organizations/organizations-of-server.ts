import {
  LEAVING,
  mirroredOrganizations,
  type FreshnessRow,
  type LeavingRow,
  type MirroredOrganization,
} from './mirrored-organizations.ts'
import { ifThere } from '../../store/refusals.ts'
import { openDatabase } from '../../store/postgres/open-database.ts'
import type { Session } from '../../store/port/postgres-session.ts'

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
  const columns = 'organization, active, removed, read_as_of, retired_at'
  const fresh = await session.all<FreshnessRow>(`SELECT ${columns} FROM freshness`)
  return mirroredOrganizations(fresh, await session.all<LeavingRow>(LEAVING))
}
