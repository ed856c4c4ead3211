import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type BackupPlan, makeBackup, restoreMirror, type RestorePlan } from '../../src/copies/backup.ts'
import { START_MS } from './builders.ts'
import { written } from './commands.ts'
import { temporaryFolder } from './mirror-file.ts'

type Given = { nowMs: number; signal: AbortSignal }

/** A backup of the mirror at `mirror`, as the command makes it; by default in a folder that is not there yet. */
export async function backUp(mirror: string, { nowMs = START_MS, ...plan }: Partial<BackupPlan & Given> = {}) {
  const file = plan.file ?? join(temporaryFolder(), 'backups', 'customers.db')
  return makeBackup({ mirror, keep: undefined, ...plan, file }, { nowMs, signal: new AbortController().signal })
}

export async function restore(file: string, mirror: string, given: Partial<RestorePlan & Given> = {}) {
  const { nowMs = START_MS, signal = new AbortController().signal, ...plan } = given
  return restoreMirror({ file, mirror, force: false, ...plan }, { nowMs, monotonicMs: nowMs, signal })
}

export function aBackupFile(): string {
  return join(temporaryFolder(), 'customers.db')
}

export function damaged(file: string): string {
  const bytes = readFileSync(file)
  return written(file, bytes.fill(0xff, bytes.length - 8192, bytes.length - 4096))
}

export function lose(mirror: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(mirror + ending, { force: true })
}
