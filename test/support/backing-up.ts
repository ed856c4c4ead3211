import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { type Backup, type BackupPlan, makeBackup } from '../../src/copies/backup.ts'
import { type Restored, restoreMirror, type RestorePlan } from '../../src/copies/restore.ts'
import { START_MS } from './builders.ts'
import { quickProgram } from './quick-program.ts'
import { temporaryFolder } from './temp-folder.ts'

type Settings = { nowMs?: number; signal?: AbortSignal; onProgress?: (share: number) => void }

/** A backup of the mirror at `mirror`, as the command makes it; by default in a folder that is not there yet. */
export async function backUp(
  mirror: string,
  {
    nowMs = START_MS,
    signal = new AbortController().signal,
    onProgress = () => {},
    ...plan
  }: Partial<BackupPlan> & Settings = {},
): Promise<Backup> {
  const file = plan.file ?? join(temporaryFolder(), 'backups', 'customers.db')
  return makeBackup({ mirror, keep: undefined, ...plan, file }, { nowMs, signal, onProgress })
}

/** Restores a backup to `mirror`, as the command does. */
export async function restore(
  file: string,
  mirror: string,
  {
    nowMs = START_MS,
    signal = new AbortController().signal,
    onProgress = () => {},
    ...plan
  }: Partial<RestorePlan> & Settings = {},
): Promise<Restored> {
  return restoreMirror({ file, mirror, force: false, ...plan }, { nowMs, monotonicMs: nowMs, signal, onProgress })
}

/** A file in a folder of its own that does not exist yet. */
export function aBackupFile(name = 'customers.db'): string {
  return join(temporaryFolder(), name)
}

/** A process that mirrors a list again and again. */
export type Writer = { saved(times: number): Promise<void>; kill(): Promise<void> }

/** Starts a process that writes the mirror at `file` without end. */
export function aWriter(file: string): Writer {
  const child = spawn(process.execPath, [...CHILD, file, '1'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  return {
    async saved(times) {
      for (let line = 0; line < times; line += 1) await lines.next()
    },
    kill,
  }
}

const CHILD = quickProgram(new URL('mirroring-child.ts', import.meta.url))
