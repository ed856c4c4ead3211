import type { Organizations } from '../../../organizations.ts'
import { openDatabase, readTransaction, writeTransaction } from '../opening/database.ts'
import { contentsOf, forgetOrganization, isUnfinished } from './forget.ts'
import { listNames } from './organization-tables.ts'
import { renameOrganization } from './rename.ts'
import { retireOrganization } from './retire.ts'

/** The page cache, in KB: with the indexes of a million customers in memory, each of their pages is written once. */
const CACHE_KB = 256_000

/** The organizations of the mirror at `file`. Throws MirrorUnusable `missing` if there is none. */
export function openOrganizations(file: string): Organizations {
  // To read: no mirror is made where there is none.
  openDatabase(file, 'read').close()
  const db = openDatabase(file, 'write')
  db.pragma(`cache_size = -${CACHE_KB}`)
  return {
    list: async () => readTransaction(db, file, () => listNames(db)),
    rename: async (names, clocks) => writeTransaction(db, file, () => renameOrganization(db, names, clocks)),
    retire: async (organization, clocks) =>
      writeTransaction(db, file, () => retireOrganization(db, organization, clocks)),
    contents: async (organization) => readTransaction(db, file, () => contentsOf(db, organization)),
    isUnfinished: async (organization) => readTransaction(db, file, () => isUnfinished(db, organization)),
    forget: async (organization, clocks) => forgetOrganization(db, file, organization, clocks),
    close: async () => void db.close(),
  }
}
