import type { Organizations } from '../organizations.ts'
import type { Erased, Mirror, Traces } from '../model/mirror.ts'
import { mirrorOn } from './verbs.ts'
import { organizationsIn } from './organizations.ts'
import { savingIn } from './pages/save-in-postgres.ts'
import { postgresStore } from './port/postgres-store.ts'
import { openDatabase } from './postgres/open-database.ts'
import { findDamage } from './postgres/require-mirror.ts'
import { readingIndexes } from './postgres/indexes.ts'
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
  return organizationsIn(postgresStore(await openDatabase(address, 'write')))
}

export async function eraseTraces(address: string, traces: Traces): Promise<Erased> {
  const erase = await import('./postgres/vacuum.ts')
  const database = await openDatabase(address, 'write')
  try {
    return await erase.eraseTraces(database, traces)
  } finally {
    await database.close()
  }
}

export function mirrorOf(database: Database): Mirror {
  const index = readingIndexes(database)
  return mirrorOn(postgresStore(database), {
    standing: () => 'same',
    savePages: savingIn(database),
    indexForReaders: () => index(),
    findDamage: () => findDamage(database),
  })
}
