import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type BackupPlan, makeBackup } from '../../src/copies/backup.ts'
import { type Restored, restoreMirror, type RestorePlan } from '../../src/copies/restore.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { night } from '../store/nights.ts'
import { customers, START_MS } from './builders.ts'
import { aMirrorFile } from './mirror-file.ts'
import { temporaryFolder } from './temp-folder.ts'

type Settings = { nowMs?: number; signal?: AbortSignal }

/** A backup of the mirror at `mirror`, as the command makes it; by default in a folder that is not there yet. */
export async function backUp(
  mirror: string,
  { nowMs = START_MS, signal = new AbortController().signal, ...plan }: Partial<BackupPlan> & Settings = {},
) {
  const file = plan.file ?? join(temporaryFolder(), 'backups', 'customers.db')
  return makeBackup({ mirror, keep: undefined, ...plan, file }, { nowMs, signal })
}

/** Restores a backup to `mirror`, as the command does. */
export async function restore(
  file: string,
  mirror: string,
  { nowMs = START_MS, signal = new AbortController().signal, ...plan }: Partial<RestorePlan> & Settings = {},
): Promise<Restored> {
  return restoreMirror({ file, mirror, force: false, ...plan }, { nowMs, monotonicMs: nowMs, signal })
}

/** A file in a folder of its own that does not exist yet. */
export function aBackupFile(): string {
  return join(temporaryFolder(), 'customers.db')
}

export const COUNT = 'SELECT count(*) FROM customers'

/** Without what a test that reads the mirror lets SQLite leave there. */
export function namesBeside(file: string): string[] {
  return readdirSync(dirname(file)).filter((name) => !/^customers\.db-(wal|shm)$/.test(name))
}

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

/** Deletes a mirror. */
export function lose(mirror: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(mirror + ending, { force: true })
}
