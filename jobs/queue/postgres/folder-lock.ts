import { open, readFile, rename, rm, stat, utimes, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { QueueUnavailable } from '../../../src/errors/errors.ts'
import { isGone, nameOfProcess } from '../../../src/machine/process-name.ts'
import { codeOf } from '../../../src/errors/faults.ts'

/** A folder that is ours until it is released, or this process ends. */
export type FolderLock = { release(): Promise<void> }

const BEAT_MS = 10_000
/** A process of another machine cannot be checked; after this long without a heartbeat it counts as ended. */
const SILENT_MS = 60_000
/** Two heartbeats are due within this time. */
const WATCH_MS = 25_000

/** Takes a folder for this process. Throws QueueUnavailable while another process has it. */
export async function lockFolder(folder: string, { watchMs = WATCH_MS } = {}): Promise<FolderLock> {
  const file = join(folder, 'lock')
  const holder = nameOfProcess()
  if (!(await take(file, holder))) {
    await clearIfGone(file, folder, watchMs)
    if (!(await take(file, holder))) throw inUse(folder)
  }
  const beat = setInterval(() => {
    const now = new Date()
    utimes(file, now, now).catch(() => {})
  }, BEAT_MS).unref()
  return {
    release: async () => {
      clearInterval(beat)
      // Where a disk keeps it, the next process finds that its holder has ended.
      await rm(file, { force: true }).catch(() => {})
    },
  }
}

async function take(file: string, holder: string): Promise<boolean> {
  const lock = await make(file)
  try {
    await lock?.writeFile(holder)
    return lock !== undefined
  } catch (error) {
    // Without its holder it would be taken for the lock of another machine.
    await rm(file, { force: true }).catch(() => {})
    throw error
  } finally {
    await lock?.close()
  }
}

/** A new file; undefined where there is one. */
async function make(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'wx', 0o600)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined
    throw error
  }
}

/** Removes the lock of a process that has ended. If several try at once, one succeeds and the others find its lock. */
async function clearIfGone(file: string, folder: string, watchMs: number): Promise<void> {
  const holder = await readFile(file, 'utf8').catch(() => '')
  const isOver = isGone(holder)
  if (!(isOver ?? (await isSilent(file, watchMs)))) throw inUse(folder, { canBeSeen: isOver !== undefined })
  const aside = `${file}.${process.pid}`
  await rename(file, aside).catch(() => {})
  const moved = await readFile(aside, 'utf8').catch(() => holder)
  // Another process was faster, and the moved file is its new lock: move it back.
  if (moved !== holder) await rename(aside, file)
  else await rm(aside, { force: true })
}

/** An old or future heartbeat may also show that the clock was set, so the next heartbeat is awaited. */
async function isSilent(file: string, watchMs: number): Promise<boolean> {
  const signMs = await lastSignMs(file)
  if (Math.abs(Date.now() - signMs) <= SILENT_MS) return false
  await sleep(watchMs)
  return (await lastSignMs(file)) === signMs
}

async function lastSignMs(file: string): Promise<number> {
  return (await stat(file).catch(() => ({ mtimeMs: 0 }))).mtimeMs
}

function inUse(folder: string, { canBeSeen = true } = {}): QueueUnavailable {
  const killed = ' It is of another machine or container: if that was killed, start again in a minute.'
  return new QueueUnavailable(
    `The embedded queue in ${folder} is in use by another process, and it serves only one. Stop that process, or name a ` +
      `redis:// or postgres:// address as queue to run several.${canBeSeen ? '' : killed}`,
  )
}
