import { readFileSync, writeFileSync } from 'node:fs'
import { openMirror } from '../../src/store/mirror.ts'
import { night } from '../store/nights.ts'
import { aBackupFile, backUp } from './backing-up.ts'
import { customers } from './builders.ts'
import { aMirrorFile } from './mirror-file.ts'

/** The paths of a mirror and of a backup. */
export type Place = { mirror: string; backup: string }

/** A closed mirror with 12 customers, and a backup of the night before, when there were 10. */
export async function aBackup(): Promise<Place> {
  const place = { mirror: aMirrorFile(), backup: aBackupFile() }
  const bytes = await (backedUp ??= backUpAndGoOn())
  for (const which of ['mirror', 'backup'] as const) writeFileSync(place[which], bytes[which], { mode: 0o600 })
  return place
}

let backedUp: Promise<Record<keyof Place, Buffer>> | undefined

/** The bytes of both, made once for all tests. */
async function backUpAndGoOn(): Promise<Record<keyof Place, Buffer>> {
  const mirror = await openMirror(aMirrorFile())
  await night(mirror, 0, customers(1, 10))
  const { file } = await backUp(mirror.file)
  await night(mirror, 1, customers(1, 12))
  await mirror.close()
  return { mirror: readFileSync(mirror.file), backup: readFileSync(file) }
}
