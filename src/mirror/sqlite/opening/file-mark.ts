import { MirrorUnusable } from '../../../errors/errors.ts'
import type { Connection } from './database.ts'
import { LATEST_VERSION, versionOf } from './migrate.ts'

/** `CMIR`: identifies the SQLite file, also for the command `file`. */
export const APPLICATION_ID = 0x434d4952

/** Throws MirrorUnusable `mirror-newer` for a file that a later version wrote. */
export function refuseNewer(db: Connection, file: string): void {
  const version = versionOf(db)
  if (version <= LATEST_VERSION) return
  throw new MirrorUnusable(
    `${file}: was written by a newer Customer Mirror (its version is ${version}, this program knows ${LATEST_VERSION}). ` +
      'Upgrade this program, or name another file.',
    { code: 'newer' },
  )
}
