import type { Organizations } from '../../organizations.ts'
import { openDatabase, readTransaction, writeTransaction } from '../database.ts'
import { writeDictionary } from '../dictionary.ts'
import { listNames } from './organization-tables.ts'
import { renameOrganization } from './rename.ts'
import { retireOrganization } from './retire.ts'

/** The organizations of the mirror at `file`. Throws MirrorUnusable `mirror-missing` if there is none. */
export function openOrganizations(file: string): Organizations {
  // To read: no mirror is made where there is none.
  openDatabase(file, 'read', writeDictionary).close()
  const db = openDatabase(file, 'write', writeDictionary)
  return {
    list: async () => readTransaction(db, file, () => listNames(db)),
    rename: async (names, clocks) => writeTransaction(db, file, () => renameOrganization(db, names, clocks)),
    retire: async (organization, clocks) =>
      writeTransaction(db, file, () => retireOrganization(db, organization, clocks)),
    close: async () => void db.close(),
  }
}
