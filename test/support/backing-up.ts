import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { backupCommand } from '../../src/cli/backup.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { type BackupPlan, makeBackup } from '../../src/copies/backup.ts'
import { type Restored, restoreMirror, type RestorePlan } from '../../src/copies/restore.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { night } from '../store/nights.ts'
import { customers, START_MS } from './builders.ts'
import { aMirrorFile } from './mirror-file.ts'
import { childProgram } from './run-cli.ts'
import { runCommand } from './run-command.ts'
import { temporaryFolder } from './temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

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

/** A process that mirrors a list again and again. */
type Writer = { saved(times: number): Promise<void>; kill(): Promise<void> }

/** Starts a process that writes the mirror at `file` without end. */
export function aWriter(file: string): Writer {
  const child = spawn(process.execPath, childProgram('mirror', file, '1'), { stdio: ['ignore', 'pipe', 'inherit'] })
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

export const COUNT = 'SELECT count(*) FROM customers'

/** Without what a test that reads the mirror lets SQLite leave there. */
export function namesBeside(file: string): string[] {
  return readdirSync(dirname(file)).filter((name) => !/^customers\.db-(wal|shm)$/.test(name))
}

export async function aBackedUpWorkplace() {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [900] })))
  await runCommand(syncCommand, ['--config', workplace.config])
  const backup = join(workplace.folder, 'backups', 'customers.db')
  await runCommand(backupCommand, [backup, '--config', workplace.config])
  return { ...workplace, backup }
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
