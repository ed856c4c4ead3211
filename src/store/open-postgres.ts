import type { Organizations } from '../model/organizations.ts'
import type { Mirror } from '../model/mirror.ts'
import { mirrorOn } from './verbs.ts'
import { organizationsIn } from './organizations.ts'
import { savingIn } from './pages/save-in-postgres.ts'
import { indexingForReaders } from './reading-indexes.ts'
import { openDatabase } from './postgres/open-database.ts'
import type { Database } from './port/postgres-session.ts'

export async function openMirror(address: string): Promise<Mirror> {
  return mirrorOf(await openDatabase(address, 'write'))
}

export async function openMirrorToRead(address: string): Promise<Mirror> {
  return mirrorOf(await openDatabase(address, 'read'))
}

export async function openOrganizations(address: string): Promise<Organizations> {
  // To read first, since no mirror is made here.
  await (await openDatabase(address, 'read')).close()
  return organizationsIn(await openDatabase(address, 'write'))
}

export function mirrorOf(database: Database): Mirror {
  return mirrorOn(database, {
    standing: () => 'same',
    savePages: savingIn(database),
    indexForReaders: indexingForReaders(database),
    findDamage: () => [],
  })
}
